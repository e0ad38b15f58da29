"""Files that are replayed: every row once, in its stream, with the values that the file has."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lockstep.cli.addresses import Addresses
from lockstep.cli.client import Client
from lockstep.cli.replay import Replayed, replay_file
from lockstep.cli.replay_files import ReplayFile, TableRows
from lockstep.events import EventsRecord
from tests.integration.services.cluster import Cluster
from tests.integration.services.conftest import Start
from tests.unit.cli.conftest import Lockstep
from tests.unit.cli.conftest import lockstep as lockstep  # a fixture

NODES = ("coordinator", "processor-1", "receiver")
ROWS = 40
TEXT = """
@app:name('{name}')
define stream A (v int);
define stream B (v int);
from A select v insert into OutA;
from B select v insert into OutB;
"""
TYPED = "@app:name('ReplayedText') define stream Calls (phone string, zip string, n int); " + (
    "from Calls select phone insert into Out;"
)


async def _in_log(cluster: Cluster, app: str, stream: str) -> list[Any]:
    """The first value of each event of a stream, in order."""
    records = [entry.record for entry in await cluster.taken_in(app)]
    return [
        event.data[0]
        for record in records
        if isinstance(record, EventsRecord) and record.stream == stream
        for chunk in record.chunks
        for event in chunk
    ]


@pytest.fixture
def source(tmp_path: Path) -> ReplayFile:
    """The numbers from 0 on."""
    file = tmp_path / "numbers.csv"
    file.write_text("v\n" + "".join(f"{n}\n" for n in range(ROWS)))
    return ReplayFile.open(file, None)


async def _replayed(
    cluster: Cluster, app: str, stream: str, source: ReplayFile, batch: int
) -> Replayed:
    url, total = cluster.url("receiver"), Replayed()
    async with Client(Addresses(url, url, url)) as client:
        await replay_file(
            client, app, stream, source, speed=0, batch=batch, advance=lambda _: None, total=total
        )
    return total


async def test_a_file_goes_into_each_stream_that_it_is_sent_to(
    cluster_of: Start, source: ReplayFile
) -> None:
    """And into each of them once: a repetition is told."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT.format(name="ReplayedTwo"))
        for stream in ("A", "B"):
            assert await _replayed(cluster, app, stream, source, 20) == Replayed(ROWS)
        again = await _replayed(cluster, app, "A", source, 20)
        assert again == Replayed(ROWS, duplicates=ROWS)
        for stream in ("A", "B"):
            assert await _in_log(cluster, app, stream) == list(range(ROWS))


async def test_other_batches_of_a_file_leave_nothing_out(
    cluster_of: Start, source: ReplayFile
) -> None:
    """A replay that ended early is repeated with smaller batches: no row is taken for another."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT.format(name="ReplayedBatches"))
        assert isinstance(source.contents, TableRows)
        half = replace(source.contents, table=source.contents.table.slice(0, 20))
        begun = ReplayFile(half, None, source.fingerprint)
        await _replayed(cluster, app, "A", begun, 20)
        assert await _replayed(cluster, app, "A", source, 5) == Replayed(ROWS)
        assert set(await _in_log(cluster, app, "A")) == set(range(ROWS))


async def test_text_stays_as_it_is_written(
    cluster_of: Start, tmp_path: Path, lockstep: Lockstep
) -> None:
    """Whatever it looks like; what the app refuses is told with its row, and as an exit code."""
    file = tmp_path / "calls.ndjson"
    rows = [
        '{"phone": "2013-01-01T05:15:00", "zip": "01", "n": 1}',
        '{"phone": "2", "n": 1000000000000}',
    ]
    file.write_text("\n".join(rows))
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TYPED)
        doors = [f"--{door}={cluster.url('receiver')}" for door in ("receiver", "presenter")]
        doors.append(f"--coordinator={cluster.url('coordinator')}")
        said = await asyncio.to_thread(lockstep, *doors, "replay", app, "Calls", file)
        assert said.exit_code == 2, said.stderr
        assert "accepted 1 refused 1" in said.stdout
        assert "refused row 2: n: " in said.stderr
        assert await _in_log(cluster, app, "Calls") == ["2013-01-01T05:15:00"]
        other = await asyncio.to_thread(lockstep, *doors, "replay", app, "Nope", file)
        assert (other.exit_code, "takes no events in 'Nope'" in other.stderr) == (2, True)
