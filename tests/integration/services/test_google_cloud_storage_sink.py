"""@sink(type='google-cloud-storage') on an emulator of the store: an object a message, none twice
however a publisher dies."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SystemClock
from lockstep.connectors.google.service import KEY_VARIABLE
from lockstep.events import OutputRow, UnavailableError
from lockstep.secrets import Vault
from lockstep.siddhiql import ast, check
from lockstep.telemetry import get_logger
from lockstep_services.publisher.build import SinkFactory
from lockstep_services.publisher.contract import Batch, RowsRefusedError, Sink, SinkBinding
from tests.google_cloud_storage.server import (
    BUCKET,
    SHUT_BUCKET,
    Door,
    Emulator,
    door,
    emulator,
    new_key,
)
from tests.unit.services.publisher.parts import Cursors, KilledError, Mortal, row, sink_of


@pytest.fixture(scope="module")
def store() -> Iterator[Emulator]:
    """With a bucket."""
    with emulator() as found:
        yield found


@dataclass
class Place:
    """Where a test writes: a prefix of its own, through a door of its own, with a key file."""

    store: Emulator
    door: Door
    prefix: str
    key: Path

    def sink(
        self, cursors: Cursors, mapping: str = "type='json'", bucket: str = BUCKET, more: str = "",
        secrets: str = "",
    ) -> Sink:  # fmt: skip
        """As the publisher builds it; what was in memory before is gone."""
        credential = f"credential.path='{self.key}'" if self.key.exists() else ""
        given = ", ".join(part for part in (credential, more) if part)
        text = (
            f"@sink(type='google-cloud-storage', bucket.name='{bucket}',"
            f" object.name='{self.prefix}/{{{{k}}}}', endpoint='{self.door.url}', {given},"
            f" @map({mapping})) define stream S (k string, v int);"
        ).replace(", ,", ",")
        schema, annotation = sink_of(text)
        definition = check(text).app.definitions[0]
        assert isinstance(definition, ast.StreamDefinition)
        clock = SystemClock()
        factory = SinkFactory(
            cursors, MemoryBus(MemoryCarrier(clock)).topics, get_logger(), datasources={},
            default_dsn="", max_connections=1, statement_timeout_ms=1_000, vault=Vault(secrets),
            clock=clock,
        )  # fmt: skip
        binding = SinkBinding("A", schema, "S.0.google-cloud-storage")
        return factory.sink_of(binding, annotation, definition)

    def objects(self) -> dict[str, bytes]:
        return self.store.objects(f"{self.prefix}/")

    def values(self) -> list[int]:
        """Of all rows in all objects, as often as they are there."""
        found = [json.loads(content) for content in self.objects().values()]
        flat = [each for one in found for each in (one if isinstance(one, list) else [one])]
        return sorted(each["event"]["v"] for each in flat)


@pytest.fixture
async def place(
    store: Emulator, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Place]:
    """Each test's own."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    async with door(store, new_key()) as found:
        key = tmp_path / "key.json"
        key.write_text(found.key_file())
        yield Place(store, found, re.sub(r"\W", "-", request.node.name), key)


async def test_an_object_a_row_with_path_type_and_class(place: Place) -> None:
    """Named so that names are in the order of the log. One token is enough for all."""
    written = place.sink(Cursors(), more="storage.class='nearline'")
    await written.open()
    await written.deliver(Batch(1, [row(9, "a", 1), row(10, "ü", 2), row(10, "b", 3, ordinal=1)]))
    await written.close()
    assert place.objects() == {
        "a/A.S.00000000000000000009.000000.json": b'{"event":{"k":"a","v":1}}',
        "ü/A.S.00000000000000000010.000000.json": '{"event":{"k":"ü","v":2}}'.encode(),
        "b/A.S.00000000000000000010.000001.json": b'{"event":{"k":"b","v":3}}',
    }
    about = place.store.about(f"{place.prefix}/a/").values()
    assert [(one["contentType"], one["storageClass"]) for one in about] == [
        ("application/json", "NEARLINE")
    ]
    assert place.door.given == 1


GROUPED = "type='json', event.grouping.enabled='true'"
ALL = [row(position, "ab"[ordinal % 2], 10 * position + ordinal, ordinal=ordinal)
       for position in range(1, 4) for ordinal in range(4)]  # fmt: skip


@pytest.mark.parametrize("mapping", ["type='json'", GROUPED], ids=["rows", "groups"])
@pytest.mark.parametrize(("first", "again"), [(7, 6), (12, 5)])
async def test_a_publisher_that_is_killed_before_its_cursor_moves(
    place: Place, mapping: str, first: int, again: int
) -> None:
    """The next one cuts batches elsewhere, also within a position: each row is there once."""
    cursors = Mortal()
    killed = place.sink(cursors, mapping)
    await killed.open()
    cursors.deaths = 1
    with pytest.raises(KilledError):
        await killed.deliver(Batch(first, ALL[:first]))
    await killed.close()
    assert place.objects()
    after = place.sink(cursors, mapping)
    assert await after.open() == 0
    for begin in range(0, len(ALL), again):
        part: list[OutputRow] = ALL[begin : begin + again]
        await after.deliver(Batch(begin + len(part), part))
    await after.close()
    assert place.values() == [each.data[1] for each in ALL]


async def test_an_answer_that_is_lost_leaves_one_object(place: Place) -> None:
    """It is written again, over itself; a form of several lines is kept to the byte."""
    written = place.sink(Cursors(), "type='csv', header='true'")
    batch = Batch(1, [row(1, "a", 1)])
    place.door.losing = True
    with pytest.raises(UnavailableError):
        await written.deliver(batch)
    name = "a/A.S.00000000000000000001.000000.csv"
    before = place.store.about(f"{place.prefix}/")
    await written.deliver(batch)
    await written.close()
    assert place.objects() == {name: b"k,v\na,1\n"}
    assert before[name]["generation"] != place.store.about(f"{place.prefix}/")[name]["generation"]


@pytest.mark.parametrize("name", ["..", "a/b", "", "a\nb", "x" * 1_100])
async def test_a_name_that_leads_elsewhere_refuses_its_row(place: Place, name: str) -> None:
    """And no other."""
    written = place.sink(Cursors())
    rows = [row(1, "a", 1), row(2, name, 2), row(3, "b", 3)]
    with pytest.raises(RowsRefusedError) as refused:
        await written.deliver(Batch(3, rows))
    assert [each.row for each in refused.value.refused] == [rows[1]]
    await written.deliver(Batch(3, [rows[0], rows[2]]))
    await written.close()
    assert place.values() == [1, 3]
    assert not written.takes_again


async def test_a_store_that_is_away_is_asked_again(place: Place) -> None:
    """With the token that it gave before."""
    written = place.sink(Cursors())
    await written.deliver(Batch(1, [row(1, "a", 1)]))
    await place.door.stop()
    with pytest.raises(UnavailableError):
        await written.deliver(Batch(2, [row(2, "a", 2)]))
    await place.door.start()
    await written.deliver(Batch(2, [row(2, "a", 2)]))
    await written.close()
    assert place.values() == [1, 2]
    assert place.door.given == 1


async def test_a_token_that_runs_out_is_replaced(place: Place) -> None:
    """Once for all messages that are under way; nothing is tried again for it."""
    written = place.sink(Cursors())
    await written.deliver(Batch(1, [row(1, "a", 1)]))
    place.door.past = 1
    await written.deliver(Batch(6, [row(position, "a", position) for position in range(2, 7)]))
    await written.close()
    assert place.values() == [1, 2, 3, 4, 5, 6]
    assert place.door.given == 2


@pytest.mark.parametrize(
    ("bucket", "says"),
    [(SHUT_BUCKET, "answered 403.*may not create objects"), ("nowhere", "answered 404")],
)
async def test_a_bucket_that_is_not_ours_or_not_there(place: Place, bucket: str, says: str) -> None:
    """Is asked again until an operator has seen to it."""
    written = place.sink(Cursors(), bucket=bucket)
    with pytest.raises(UnavailableError, match=says):
        await written.deliver(Batch(1, [row(1, "a", 1)]))
    await written.close()


async def test_keys_that_are_none_and_one_that_is_put_right(place: Place) -> None:
    """Each is told without anything of the key. The file is read again each time."""
    written = place.sink(Cursors())
    batch = Batch(1, [row(1, "a", 1)])
    good = json.loads(place.door.key_file())
    for text, says in [
        (place.door.key_file(new_key()), "gives no token: 400.*invalid_grant"),
        (json.dumps(good | {"private_key": "the-secret"}), "no RSA key"),
        (json.dumps(good | {"client_email": ""}), "it has no client_email"),
        (json.dumps(good | {"type": "authorized_user"}), "no key of a service account"),
        ("the-secret", "it is no JSON"),
    ]:
        place.key.write_text(text)
        with pytest.raises(UnavailableError, match=says) as caught:
            await written.deliver(batch)
        assert "the-secret" not in str(caught.value)
    place.key.unlink()
    with pytest.raises(UnavailableError, match=r"key\.json"):
        await written.deliver(batch)
    place.key.write_text(json.dumps(good))
    await written.deliver(batch)
    await written.close()
    assert place.values() == [1]


async def test_a_key_that_is_a_secret(place: Place, tmp_path: Path) -> None:
    """As it was given, with its lines, in a file of the folder of secrets."""
    place.key.unlink()
    (tmp_path / "google").write_text(json.dumps(json.loads(place.door.key_file()), indent=2) + "\n")
    more = "credential.json='${secret:google}'"
    written = place.sink(Cursors(), more=more, secrets=str(tmp_path))
    await written.deliver(Batch(1, [row(1, "a", 1)]))
    await written.close()
    assert place.values() == [1]
    assert place.door.given == 1


async def test_a_key_from_the_environment_and_none_at_all(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As other clients of Google find it. Without one another store is asked without a token."""
    other = tmp_path / "other.json"
    place.key.rename(other)
    batch = Batch(1, [row(1, "a", 1)])
    nobody = place.sink(Cursors())
    with pytest.raises(UnavailableError, match="answered 401"):
        await nobody.deliver(batch)
    await nobody.close()
    assert place.door.given == 0
    monkeypatch.setenv(KEY_VARIABLE, str(other))
    written = place.sink(Cursors())
    await written.deliver(batch)
    await written.close()
    assert place.values() == [1]
