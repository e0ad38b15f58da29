"""What earlier releases stored and sent is read: the folder beside this file, and bytes of claims.

They knew a deployment's typed fields as strings among its settings; so it is stored to this day.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import msgspec

from lockstep.bus.tails import generation_of_text, generation_text
from lockstep.events import ClaimRecord, EventsRecord, Generation, Life
from lockstep.events.codec import decode_input, decode_output, encode_record
from lockstep.store import Deployment, Origin, Removed, Restoration, StoredDeployment
from lockstep.store.filesystem import FileStore

FOLDER = Path(__file__).parent / "first_release"
REVISION = "Sums.1700000000001.2.40.abc"
LIFE = Life(1_700_000_000_001, 2)
ORIGIN = Origin(41, 1_700_000_000_000, Restoration(REVISION, Life(1_700_000_000_001, 3)))
SUMS = Deployment("Sums", "text", "v1", LIFE, 2, 1_700_000_000_005, {"standby": "warm"}, ORIGIN)
CLAIM = "01040000140000009404a46e6f64651193cf0000018bcfe56801022800000000"
OLDER_CLAIM = "01040000090000009404a46e6f646511c000000000000000"
ROW = {
    "app": "Sums",
    "text": "text",
    "version": "v1",
    "generation": 2,
    "replicas": 2,
    "created_ms": 1_700_000_000_001,
    "updated_ms": 1_700_000_000_005,
    "settings": {
        "standby": "warm",
        "origin_position": "41",
        "logs_since_ms": "1700000000000",
        "restore_revision": REVISION,
        "restore_generation": "3",
    },
}
"""Of PostgreSQL's table of deployments."""


async def test_a_folder_of_the_first_release_is_read(tmp_path: Path) -> None:
    """What is deployed, what was removed, purged or not, and revisions with their life."""
    shutil.copytree(FOLDER, tmp_path / "store")
    store = FileStore(tmp_path / "store")
    assert await store.deployments.list() == [SUMS]
    kept, purged = await store.deployments.removed()
    first = Life(LIFE.deployed_ms, 1)
    assert kept.kept is not None
    assert (kept.kept.life, kept.kept.origin) == (first, ORIGIN)
    nothing = Deployment("Purged", "", "v1", first, 2, 1_700_000_000_005)
    assert purged == Removed(nothing, purged=True)
    (revision,) = await store.revisions.list("Sums", "main@1700000000000", 0)
    assert (revision.life, revision.position) == (LIFE, 40)
    assert await store.revisions.load(revision.id) == b"state"


def test_a_row_is_read_and_written_as_ever() -> None:
    """PostgreSQL's columns and their values are those of the first release."""
    assert StoredDeployment(**ROW).deployment == SUMS  # type: ignore[arg-type]
    assert asdict(StoredDeployment.of(SUMS)) == ROW


def test_a_row_without_typed_fields_is_read() -> None:
    """Releases before logs bore their time wrote none; what is no number was somebody's own."""
    row = {**ROW, "settings": {"restore_revision": "r", "restore_generation": "?"}}
    assert StoredDeployment(**row).deployment.origin == Origin()  # type: ignore[arg-type]


def test_claims_are_read_and_written_as_ever() -> None:
    """On the log and in its headers; the first release of all wrote claims without a generation."""
    claim = ClaimRecord(4, "node", 17, Generation(LIFE, 40))
    assert decode_output(bytes.fromhex(CLAIM)) == claim
    assert encode_record(claim).hex() == CLAIM
    assert decode_output(bytes.fromhex(OLDER_CLAIM)) == ClaimRecord(4, "node", 17)
    assert generation_of_text("1700000000001.2.40") == claim.generation
    assert generation_text(claim.generation) == "1700000000001.2.40"


def test_events_are_read_and_written_as_ever() -> None:
    """Their header with the id of the send, their chunks and columns."""
    payload = (FOLDER / "events").read_bytes()
    record = decode_input(payload)
    assert isinstance(record, EventsRecord)
    assert [chunk[0].data for chunk in record.chunks] == [("k1", 1.0), ("k0", 2.0), ("k1", 3.0)]
    assert encode_record(record, send_id=b"0123456789abcdef") == payload


def test_a_file_is_written_as_ever() -> None:
    """A node of the release before reads what this one stores."""
    assert msgspec.json.decode(msgspec.json.encode(StoredDeployment.of(SUMS))) == ROW
