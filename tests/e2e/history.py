"""The flights live through the suite in processes of their own, archived meanwhile: leaders are
killed, and so is the archive's writer in the middle of its appends. Then DuckDB, which knows
nothing of us, counts what is there, and a back-test gives every row again.

`make e2e SCENARIO=history`
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from lockstep.bus import LogName
from lockstep.cli.client import Client
from lockstep.cli.demo.flights import load_flights
from lockstep.cli.demo.runner import FLIGHTS, app_text
from lockstep.cli.processes import ProcessSuite
from lockstep.clock import SystemClock
from lockstep.events import LockstepError
from lockstep.frame import World
from tests.archived_files import ArchivedFiles
from tests.e2e.harness import Way, tried
from tests.e2e.run import KILLS, Story, deployed, fly

CLOCK = SystemClock()
POLL_MS = 5
ARCHIVED_TIMEOUT_MS = 240_000
OVERRIDES = {
    "LOCKSTEP_ARCHIVE__BY_DEFAULT": "true",
    "LOCKSTEP_ARCHIVE__INTERVAL_MS": "300",
    "LOCKSTEP_ARCHIVE__UPKEEP_INTERVAL_MS": "5_000",
    "LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "5_000",
}
CHANGED = ("from Departure[dep_delay > 60] join", "from Departure[dep_delay > 90] join")


@dataclass
class Counted:
    """What DuckDB finds."""

    events: int = 0
    rows: int = 0
    twice: int = 0
    gaps: int = 0


async def main(limit: int | None, way: Way) -> int:
    """Runs it; gives the exit code."""
    flights = load_flights(limit=limit)

    async def trial(suite: ProcessSuite, world: World) -> bool:
        folder = Path(suite.settings.archive.folder)
        async with Client(suite.addresses) as client:
            log = await deployed(client, world)
            killing = asyncio.create_task(_kill_writers(suite, folder))
            story = await fly(suite, client, log, flights)
            torn = await killing
            name = max(await world.bus.logs(FLIGHTS))
            await _archived(client, world, name)
            first, last = await (await world.bus.input_log(name, make=False)).bounds()
            tail = await log.tail()
        print(f"history: log {first} to {last}, writer killed {KILLS} times, {torn} appends torn")
        return await _judge(folder, story, last, tail.sequence) and first > 1

    return await tried("history", trial, way, overrides=OVERRIDES)


async def _kill_writers(suite: ProcessSuite, folder: Path) -> int:
    """Three times, as soon as a file of an append is there; how many of them no table has."""
    torn = 0
    (writer,) = suite.of("publisher")
    for _ in range(KILLS):
        seen = set(folder.rglob("*.parquet"))
        while not (new := set(folder.rglob("*.parquet")) - seen):
            await CLOCK.sleep_ms(POLL_MS)
        await writer.kill()
        torn += sum(one.name not in _named(one.parents[1]) for one in new)
        writer.start()
        await CLOCK.sleep_ms(1_000)
    return torn


def _named(table: Path) -> str:
    return "".join(one.read_text() for one in (table / "_delta_log").glob("*.json"))


async def _archived(client: Client, world: World, name: LogName) -> None:
    """Until both logs are archived to their ends, and the input log was trimmed behind it."""
    deadline_ms = CLOCK.monotonic_ms() + ARCHIVED_TIMEOUT_MS
    url = f"{client.addresses.coordinator}/v1/apps/{FLIGHTS}/status"
    reached: dict[str, int] = {}
    while CLOCK.monotonic_ms() < deadline_ms:
        first, last = await (await world.bus.input_log(name, make=False)).bounds()
        tail = await (await world.bus.output_log(name)).tail()
        try:
            sinks = (await client.request("GET", url))["sinks"]
        except LockstepError:
            sinks = []
        reached = {one["sink"]: one["sequence"] for one in sinks}
        input_to, output_to = reached.get("archive.input", 0), reached.get("archive.output", 0)
        if input_to >= last and output_to >= tail.sequence and first > 1:
            return
        await CLOCK.sleep_ms(250)
    raise TimeoutError(f"the archive did not get there: {reached}")


async def _judge(folder: Path, story: Story, last: int, tail: int) -> bool:
    files = ArchivedFiles(folder, FLIGHTS)
    counted = _count(files, last, tail)
    text = app_text("flights")
    same = await _backtest(folder, text)
    identical = _identical(files, Path(same["results"]) / files.app.relative_to(folder))
    changed = await _backtest(folder, text.replace(*CHANGED))
    wanted = _no_longer(files)
    print(f"history: changed text missing={changed['missing']} other={changed['other']}, by SQL")
    print(f"history: {wanted} missing; differing by DuckDB: {identical}")
    ok = (
        story.kills == KILLS
        and counted.twice == counted.gaps == identical == 0
        and same["missing"] == same["other"] == same["not_compared"] == 0
        and same["same"] == counted.rows
        and (changed["missing"], changed["other"]) == (wanted, 0)
    )
    print(
        f"history: {'ok' if ok else 'FAILED'} events={counted.events} rows={counted.rows} "
        f"missing={same['missing']} other={same['other']} archived_twice={counted.twice}"
    )
    return ok


def _count(files: ArchivedFiles, last: int, tail: int) -> Counted:
    """Every position and sequence once, every event and row once."""
    found = Counted()
    for side, number, end in (("input", "position", last), ("output", "sequence", tail)):
        records = files.live(files.app / side / "records")
        ((count, distinct, low, high),) = duckdb.execute(
            f"select count(*), count(distinct {number}), min({number}), max({number}) "
            "from read_parquet($1)",
            parameters=[records],
        ).fetchall()
        found.twice += count - distinct
        found.gaps += (high - low + 1 - distinct) + (low - 1) + (end - high)
    for side, keys in (("input", "_position, _row"), ("output", "_position, _ordinal")):
        for stream, parts in files.tables(side).items():
            ((count, distinct),) = duckdb.execute(
                f"select count(*), count(distinct ({keys})) from read_parquet($1)",
                parameters=[parts],
            ).fetchall()
            print(f"history: {side} {stream}: {count}")
            found.twice += count - distinct
            if side == "input":
                found.events += count
            else:
                found.rows += count
    return found


def _identical(files: ArchivedFiles, results: Path) -> int:
    """Rows that stand on one side alone, identities and all, as DuckDB has it."""
    published, given = files.tables("output"), files.tables("output", results)
    different = 0
    for stream in {*published, *given}:
        sides = [published.get(stream, []), given.get(stream, [])]
        select = "select * exclude (_sequence) from read_parquet({}, hive_partitioning=false)"
        for one, two in (("$1", "$2"), ("$2", "$1")):
            ((count,),) = duckdb.execute(
                f"select count(*) from ({select.format(one)} except all {select.format(two)})",
                parameters=sides,
            ).fetchall()
            different += count
    return different


def _no_longer(files: ArchivedFiles) -> int:
    """What the changed text leaves out, by SQL over what came in."""
    came = files.tables("input")
    ((count,),) = duckdb.execute(
        "select count(*) from read_parquet($1) d join (select origin, min((_position, _row)) as "
        "since from read_parquet($2) group by origin) w using (origin) "
        "where d.dep_delay between 61 and 90 and (d._position, d._row) > w.since",
        parameters=[came["Departure"], came["Weather"]],
    ).fetchall()
    return int(count)


async def _backtest(folder: Path, text: str) -> dict[str, Any]:
    """By the command, on Spark."""
    file = folder.parent / "backtest.siddhi"
    file.write_text(text)
    arguments = ["backtest", str(file), "--against", "running", "--json"]
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("lockstep")), *arguments,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "LOCKSTEP_ARCHIVE__FOLDER": str(folder)},
    )  # fmt: skip
    out, _ = await process.communicate()
    found: dict[str, Any] = json.loads(out)
    shown: Sequence[Any] = found.pop("differences")
    print(f"history: backtest {json.dumps(found)} {json.dumps(shown[:2])}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, help="only the first departures")
    Way.ask(parser)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.limit, Way.of(options))))
