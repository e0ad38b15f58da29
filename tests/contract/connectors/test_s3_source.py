"""@source(type='s3') at a server that speaks it, and that goes away and comes back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from lockstep.clock import SystemClock
from lockstep.siddhiql.catalogue import Delivery
from lockstep.sources import Place, Received, Source
from lockstep.testing.connectors import keeps_source, promise_of
from tests.s3.server import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server, s3_server

try:
    from botocore.exceptions import IncompleteReadError

    from lockstep.connectors.aws.client import AwsClient
    from lockstep.connectors.s3 import source as module
    from lockstep.connectors.s3.source import S3Source
except ImportError:
    pytest.skip("the extra 'connectors' is not installed", allow_module_level=True)

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())


class Folder:
    """Below a prefix; each message that is sent is an object, by a name behind the others'."""

    def __init__(self, server: S3Server, prefix: str) -> None:
        self.server = server
        self.prefix = prefix
        self._client = server.client()
        self._count = 0
        self._is_away = False

    @property
    def options(self) -> dict[str, str]:
        """Of a source."""
        return {
            "bucket.name": BUCKET, "prefix": self.prefix, "endpoint": self.server.url,
            "aws.access.key": ACCESS_KEY, "aws.secret.key": SECRET_KEY, "polling.interval": "20",
        }  # fmt: skip

    def put(self, name: str, content: bytes) -> None:
        """An object below the prefix."""
        self._client.put_object(Bucket=BUCKET, Key=self.prefix + name, Body=content)

    def names(self, prefix: str | None = None) -> list[str]:
        """Of all objects that are there."""
        place = self.prefix if prefix is None else prefix
        found = self._client.list_objects_v2(Bucket=BUCKET, Prefix=place).get("Contents", [])
        return [one["Key"].removeprefix(place) for one in found]

    def content(self, name: str, prefix: str) -> bytes:
        """Of an object."""
        found = self._client.get_object(Bucket=BUCKET, Key=prefix + name)
        read: bytes = found["Body"].read()
        return read

    async def start(self) -> None:
        if self._is_away:
            await asyncio.to_thread(self.server.start)
        self._is_away = False

    async def stop(self) -> None:
        await asyncio.to_thread(self.server.stop)
        self._is_away = True

    async def send(self, payload: bytes) -> None:
        self._count += 1
        await asyncio.to_thread(self.put, f"{self._count:06}.json", payload)


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """With a bucket."""
    with s3_server() as found:
        yield found


@pytest.fixture
def folder(server: S3Server, request: pytest.FixtureRequest) -> Folder:
    """Each test has one of its own."""
    return Folder(server, re.sub(r"\W+", "-", request.node.name) + "/in/")


def source(folder: Folder, **more: str) -> Source:
    """Of the app's stream In."""
    given = {name.replace("_", "."): value for name, value in more.items()}
    return S3Source({**folder.options, **given}, PLACE)


async def some_of(reading: Source, count: int, *, acknowledge: bool = True) -> list[Received]:
    """So many, however often one has to ask."""
    found: list[Received] = []
    async with asyncio.timeout(30):
        while len(found) < count:
            came = await reading.read(max_messages=count - len(found), wait_ms=50)
            for each in came:
                if acknowledge:
                    await each.acknowledge()
            found += came
    return found


async def all_put_away(reading: Source, folder: Folder, left: list[str]) -> None:
    """Until only these are there."""
    async with asyncio.timeout(30):
        while folder.names() != left:
            assert await reading.read(max_messages=5, wait_ms=50) == []


async def test_the_source_keeps_its_promise(folder: Folder) -> None:
    """Each object once, over our death and the store's absence. The next object is begun when the
    one before is durable, so the kit has one at a time."""
    promise = promise_of("source", "s3")
    assert promise.delivery is Delivery.EXACTLY_ONCE
    for _ in range(3):
        tally = await keeps_source(
            promise, lambda: source(folder, mode="text.full"), folder, count=1
        )
        assert (tally.sent, tally.lost, tally.died, tally.duplicated) == (3, 0, 0, 1)
        assert tally.identified
    assert folder.names() == [], "what was taken is removed"


async def test_lines_of_objects_in_the_order_of_names(folder: Folder) -> None:
    """Without blank ones; hidden objects and those of other names stay."""
    folder.put("b.json", b"3\r\n\n4")
    folder.put("a.json", b"1\n2\n\n\n")
    folder.put("c.json", b"")
    folder.put("d.json", b"\n\n")
    folder.put(".hidden.json", b"no")
    folder.put("e.txt", b"no")
    reading = source(folder, object_name_pattern=r".*\.json")
    found = await some_of(reading, 4)
    assert [each.payload for each in found] == [b"1", b"2", b"3", b"4"]
    assert [each.properties["eof"] for each in found] == ["false", "true", "false", "true"]
    assert found[0].properties["object.name"] == f"{folder.prefix}a.json"
    while len(folder.names()) > 2:
        assert await reading.read(max_messages=5, wait_ms=50) == []
    assert folder.names() == [".hidden.json", "e.txt"]
    await reading.close()


async def test_a_long_object_goes_on_at_its_note(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts that end within lines. After a kill what was taken since the note comes again, under
    the same ids; after a proper end nothing does."""
    monkeypatch.setattr(module, "CHUNK_BYTES", 50)
    lines = [b"line %03d" % number for number in range(200)]
    folder.put("long", b"\n".join(lines))
    killed = source(folder)
    before: list[Received] = []
    for _ in range(20):
        before += await some_of(killed, 4)
    ended = source(folder)
    again = await some_of(ended, 40)
    assert again[0].id == before[64].id, "it was noted when 16 reads were durable"
    assert again[0].payload == before[64].payload == lines[64]
    await ended.close()
    last = source(folder)
    rest = await some_of(last, 96)
    assert [each.payload for each in rest] == lines[104:]
    while folder.names():
        assert await last.read(max_messages=5, wait_ms=50) == []
    await last.close()


async def test_what_was_not_acknowledged_is_given_once_more(folder: Folder) -> None:
    """By the same source, too, under the same ids."""
    folder.put("a", b"1\n2\n3\n")
    reading = source(folder)
    doomed = await some_of(reading, 2, acknowledge=False)
    found = await some_of(reading, 3)
    assert [each.payload for each in found] == [b"1", b"2", b"3"]
    assert [each.id for each in found[:2]] == [each.id for each in doomed]
    await reading.close()


async def test_objects_that_are_moved(folder: Folder) -> None:
    """Beside the prefix."""
    away = folder.prefix.replace("/in/", "/done/")
    folder.put("a", b"1")
    reading = source(folder, action_after_process="move", move_after_process=away)
    await some_of(reading, 1)
    while folder.names():
        assert await reading.read(max_messages=5, wait_ms=50) == []
    assert folder.names(away) == ["a"]
    await reading.close()


@pytest.mark.parametrize("prefix", ["", "day"])
async def test_objects_of_several_folders_keep_what_tells_them_apart(
    folder: Folder, prefix: str
) -> None:
    """They are moved with what follows behind the prefix, or behind the last folder in it."""
    away = folder.prefix.replace("/in/", "/done/")
    for name in ("day1/x.csv", "day2/x.csv"):
        folder.put(name, name.encode())
    reading = source(
        folder, prefix=folder.prefix + prefix, action_after_process="move",
        move_after_process=away,
    )  # fmt: skip
    await some_of(reading, 2)
    await all_put_away(reading, folder, [])
    assert folder.names(away) == ["day1/x.csv", "day2/x.csv"]
    assert [folder.content(name, away) for name in ("day1/x.csv", "day2/x.csv")] == [
        b"day1/x.csv", b"day2/x.csv",
    ]  # fmt: skip
    await reading.close()


@pytest.mark.parametrize("action", ["delete", "move"])
@pytest.mark.parametrize("mode", ["text.full", "binary.full"])
async def test_an_object_that_is_too_large_is_one_dead_letter_and_holds_up_none(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, mode: str, action: str
) -> None:
    """Nobody has read it, so it is not removed; it is moved where that is wanted. A reader that
    comes later does not tell of it, but of one that is written anew, or is behind it."""
    monkeypatch.setattr(module, "MAX_OBJECT_BYTES", 8)
    away = folder.prefix.replace("/in/", "/done/")
    more = {"mode": mode}
    if action == "move":
        more |= {"action_after_process": action, "move_after_process": away}
    folder.put("a", b"123456789")
    folder.put("b", b"12345678")
    reading = source(folder, **more)
    refused, taken = await some_of(reading, 2)
    assert (refused.payload, taken.payload, taken.refused) == (b"", b"12345678", "")
    assert refused.refused.startswith(f"{folder.prefix}a is larger than 8 bytes")
    note = ".lockstep.App.In.0.left"
    await all_put_away(reading, folder, [note, "a"] if action == "delete" else [])
    await reading.close()
    assert folder.names(away) == (["a", "b"] if action == "move" else [])
    again = source(folder, **more)
    folder.put("c", b"behind")
    behind, anew = await some_of(again, 1), b"1234567890"
    assert behind[0].properties["object.name"] == f"{folder.prefix}c"
    folder.put("a", anew)
    (other,) = await some_of(again, 1)
    assert other.refused
    assert other.id != refused.id
    await again.close()


async def test_an_object_that_was_too_large_is_read_when_the_app_reads_lines(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note of what is left goes with the last object of it."""
    monkeypatch.setattr(module, "MAX_OBJECT_BYTES", 8)
    folder.put("a", b"one\ntwo\nthree\n")
    note = ".lockstep.App.In.0.left"
    # With a prefix like this the note's own name begins with no dot.
    options = {"prefix": folder.prefix.removesuffix("/")}
    whole = source(folder, mode="text.full", **options)
    (refused,) = await some_of(whole, 1)
    assert refused.refused
    there = f"{folder.prefix.removesuffix('/')}{note}"
    while folder.names(there) != [""]:
        assert await whole.read(max_messages=5, wait_ms=50) == []
    lines = source(folder, **options)
    assert [each.payload for each in await some_of(lines, 3)] == [b"one", b"two", b"three"]
    await all_put_away(lines, folder, [])
    await lines.close()
    while folder.names(there):
        assert await whole.read(max_messages=5, wait_ms=50) == []
    await whole.close()


class CutBody:
    """Ends before all of it has come, as a connection does that breaks."""

    def read(self) -> bytes:
        """A part of it is lost."""
        raise IncompleteReadError(actual_bytes=1, expected_bytes=2)


async def test_a_connection_that_ends_within_an_object(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is an error of the network, which is tried again, and no mistake of the connector."""
    folder.put("a", b"1\n2\n")
    reading = source(folder)
    ask = AwsClient.ask

    def cut(client: AwsClient, operation: str, **parameters: Any) -> Any:
        answer = ask(client, operation, **parameters)
        return {**answer, "Body": CutBody()} if operation == "get_object" else answer

    with monkeypatch.context() as patch:
        patch.setattr(AwsClient, "ask", cut)
        with pytest.raises(OSError, match=r"s3: 1 read, but total bytes expected is 2"):
            await some_of(reading, 1)
        await reading.close()
    again = source(folder)
    assert [each.payload for each in await some_of(again, 2)] == [b"1", b"2"]
    await again.close()


async def test_an_object_that_is_written_anew_while_it_is_read(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is another one: it is read from its beginning, and not removed unread."""
    monkeypatch.setattr(module, "CHUNK_BYTES", 10)
    folder.put("a", b"old 1\nold 2\nold 3\n")
    folder.put("b", b"old b")
    reading = source(folder)
    await some_of(reading, 1)
    folder.put("a", b"new 1\nnew 2\n")
    found = await some_of(reading, 3)
    assert [each.payload for each in found] == [b"new 1", b"new 2", b"old b"]
    folder.put("b", b"new b")
    (last,) = await some_of(reading, 1)
    assert last.payload == b"new b"
    await reading.close()


async def test_a_bucket_that_is_not_there(folder: Folder) -> None:
    """Is tried again, and no secret is told."""
    reading = source(folder, bucket_name="nowhere")
    with pytest.raises(OSError, match="NoSuchBucket") as told:
        await some_of(reading, 1)
    await reading.close()
    assert SECRET_KEY not in str(told.value)
