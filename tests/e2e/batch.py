"""Scheduled scripts through the suite in processes of its own: the samples over an archived app,
a script whose rows go to a stream of another one, and two whose rows go to tables in PostgreSQL,
one of them by key. The publisher that runs them is killed twice: in the middle of a run, and in the
middle of writing to PostgreSQL. The rows are there once all the same.

`make e2e SCENARIO=batch`
Last line: `batch: ok runs=<n> rows=<n> lost=0 duplicated=0`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import asyncpg

from lockstep.cli.client import Client
from lockstep.cli.commands.samples import FOLDER
from lockstep.cli.processes import ProcessSuite
from lockstep.clock import SystemClock
from lockstep.events import LockstepError
from lockstep.frame import World
from tests.e2e.harness import Way, tried

CLOCK = SystemClock()
CLICKS = 1_200
TIMEOUT_MS = 600_000
ARCHIVED_MS = 60_000
OVERRIDES = {
    "LOCKSTEP_ARCHIVE__BY_DEFAULT": "true",
    "LOCKSTEP_ARCHIVE__INTERVAL_MS": "300",
    "LOCKSTEP_BATCH__RETRY_BACKOFF_MS": "1_000",
}
PLAN = (
    ("coordinator", "coordinator"), ("processor-1", "processor"), ("publisher-1", "publisher"),
    ("publisher-2", "publisher"), ("presenter", "presenter"), ("receiver", "receiver"),
)  # fmt: skip
COUNTING = """
@app:name('Counting')
define stream Clicked (visitor string, clicks long);
from Clicked select visitor, clicks insert into Heard;
"""
TO_A_STREAM = """-- name: to_a_stream
-- output: stream Counting.Clicked
select visitor, count(*) as clicks from new_Click group by visitor
"""
INSERTED = "clicks_in_order"
TO_A_TABLE = f"""-- name: to_a_table
-- output: @sink(type='rdbms', table.name='{INSERTED}')
select visitor, page, count(*) as clicks from new_Click group by visitor, page
"""
BY_KEY = "clicks_by_visitor"
TO_A_KEY = f"""-- name: to_a_key
-- output: @store(type='rdbms',
--                table.name='{BY_KEY}')
--         @primaryKey('visitor')
select visitor, count(*) as clicks from Click group by visitor
"""
SCRIPTS = {"to_a_stream": TO_A_STREAM, "to_a_table": TO_A_TABLE, "to_a_key": TO_A_KEY}
VISITORS = 7
PAGES = 5


async def main(way: Way) -> int:
    """Runs it; gives the exit code."""

    async def trial(suite: ProcessSuite, world: World) -> bool:
        async with Client(suite.addresses) as client:
            desk = Desk(suite, client)
            await client.deploy((FOLDER / "visits.siddhi").read_text())
            await client.deploy(COUNTING)
            await desk.click(0)
            folder = Path(suite.settings.archive.folder).parent / "scripts"
            folder.mkdir()
            for name, text in SCRIPTS.items():
                (folder / f"{name}.sql").write_text(text)
            print(await desk.command("batch", "deploy", str(FOLDER / "batch"), str(folder)))
            killed = await desk.killed_in("daily_summary")
            summary = await desk.ended("daily_summary")
            suite.processes[killed].start()
            others = [await desk.ran(one) for one in ("sessions", *SCRIPTS)]
            await desk.click(CLICKS)
            second = [await desk.ran(one) for one in ("daily_summary", "to_a_stream", "to_a_key")]
            again = await desk.killed_while_writing("to_a_table")
            written = await desk.ended("to_a_table")
            runs = [summary, *others, *second, written]
            return await desk.judge([killed, again], runs)

    return await tried("batch", trial, way, plan=PLAN, overrides=OVERRIDES)


class Desk:
    """What somebody does at a terminal."""

    def __init__(self, suite: ProcessSuite, client: Client) -> None:
        self._suite = suite
        self._client = client
        self._url = f"{suite.addresses.coordinator}/v1/batch"

    async def click(self, first: int) -> None:
        """So many clicks; returns when they are archived."""
        events = [
            {"visitor": f"v{number % VISITORS}", "page": f"/{number % PAGES}"}
            for number in range(first, first + CLICKS)
        ]
        receiver = self._suite.addresses.receiver
        await self._client.request(
            "POST", f"{receiver}/v1/apps/Visits/streams/Click/events", json_body=events
        )
        status = f"{self._suite.addresses.coordinator}/v1/apps/Visits/status"
        deadline_ms = CLOCK.monotonic_ms() + TIMEOUT_MS
        reached = 0
        while CLOCK.monotonic_ms() < deadline_ms:
            sinks = (await self._client.request("GET", status))["sinks"]
            found = [one for one in sinks if one["sink"] == "archive.input"]
            reached = max((one["sequence"] for one in found), default=0)
            if reached >= 1 + first // CLICKS and all(
                one["sequence"] == one["log_end"] for one in found
            ):
                return
            await CLOCK.sleep_ms(500)
        raise TimeoutError(f"not archived: {reached}")

    async def killed_in(self, script: str) -> str:
        """Runs it, and kills who runs it; gives which node that was."""
        await self._client.request("POST", f"{self._url}/{script}/run")
        deadline_ms = CLOCK.monotonic_ms() + TIMEOUT_MS
        while CLOCK.monotonic_ms() < deadline_ms:
            run = await self.last(script)
            if run["state"] == "running":
                await self._suite.processes[run["holder"]].kill()
                return str(run["holder"])
            await CLOCK.sleep_ms(100)
        raise TimeoutError("it never began")

    async def killed_while_writing(self, script: str) -> str:
        """Runs it while somebody else holds the table, and kills who waits for it in the middle of
        the transaction; gives which node that was."""
        lock = f"lock table {INSERTED} in access exclusive mode"
        waits = "select count(*) from pg_locks where not granted and relation = $1::regclass"
        holder, watcher = await self._database(), await self._database()
        try:
            async with holder.transaction():
                await holder.execute(lock)
                await self._client.request("POST", f"{self._url}/{script}/run")
                deadline_ms = CLOCK.monotonic_ms() + TIMEOUT_MS
                while not await watcher.fetchval(waits, INSERTED):
                    if CLOCK.monotonic_ms() > deadline_ms:
                        raise TimeoutError("nobody wants to write")
                    await CLOCK.sleep_ms(50)
                node = (await self.last(script))["holder"]
                await self._suite.processes[node].kill()
        finally:
            await holder.close()
            await watcher.close()
        return str(node)

    async def _database(self) -> Any:
        dsn = self._suite.settings.store.postgres_dsn.get_secret_value()
        return await asyncpg.connect(dsn)

    async def ran(self, script: str) -> Any:
        """A run by hand, when it has ended."""
        await self._client.request("POST", f"{self._url}/{script}/run")
        return await self.ended(script)

    async def ended(self, script: str) -> Any:
        """The last run."""
        deadline_ms = CLOCK.monotonic_ms() + TIMEOUT_MS
        run: Any = None
        while CLOCK.monotonic_ms() < deadline_ms:
            run = await self.last(script)
            if run["ended_ms"] is not None:
                said = ("state", "rows", "attempts", "deaths", "holder", "error")
                print(f"batch: {script} " + json.dumps({name: run[name] for name in said}))
                return run
            await CLOCK.sleep_ms(500)
        raise TimeoutError(f"it did not end: {run}")

    async def last(self, script: str) -> Any:
        """As the coordinator tells."""
        try:
            found = await self._client.request("GET", f"{self._url}/{script}/runs")
        except LockstepError as error:
            if not error.retryable:
                raise
            await CLOCK.sleep_ms(500)
            return await self.last(script)
        return found["runs"][0]

    async def command(self, *arguments: str) -> str:
        """`lockstep …`, beside the suite."""
        folder = self._suite.settings.archive.folder
        environment = {**os.environ, "LOCKSTEP_ARCHIVE__FOLDER": folder}
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("lockstep")),
            "--receiver", self._suite.addresses.receiver,
            "--presenter", self._suite.addresses.presenter,
            "--coordinator", self._suite.addresses.coordinator,
            *arguments,
            stdout=asyncio.subprocess.PIPE, env=environment,
        )  # fmt: skip
        out, _ = await process.communicate()
        return out.decode()

    async def judge(self, killed: list[str], runs: list[Any]) -> bool:
        """Whether each click is once in each of the tables, and in what the other app has heard."""
        counted = "sum(clicks) as clicks, count(distinct _due_ms) as runs"
        asked = f"select {counted} from batch__daily_summary"
        (summed,) = json.loads(await self.command("archive", "query", asked, "--json"))
        heard = await self._heard()
        connection = await self._database()
        try:
            counts = f"select sum(clicks)::bigint as clicks, count(*) as rows from {INSERTED}"
            inserted = dict(await connection.fetchrow(counts))
            inserted["pairs"] = await connection.fetchval(
                f"select count(*) from (select distinct visitor, page from {INSERTED}) as p"
            )
            counts = f"select sum(clicks)::bigint as clicks, count(*) as rows from {BY_KEY}"
            keyed = dict(await connection.fetchrow(counts))
        finally:
            await connection.close()
        print(f"batch: killed {killed}; summary {summed}, heard {heard}")
        print(f"batch: in PostgreSQL {INSERTED} {inserted}, {BY_KEY} {keyed}")
        whole, pairs = 2 * CLICKS, VISITORS * PAGES
        found = [summed["clicks"], heard["clicks"], inserted["clicks"], keyed["clicks"]]
        lost = sum(max(0, whole - one) for one in found)
        duplicated = sum(max(0, one - whole) for one in found)
        ok = (
            all(run["state"] == "succeeded" for run in runs)
            and (runs[0]["deaths"], summed["runs"]) == (1, 2)
            and heard["events"] == 2 * VISITORS
            and inserted == {"clicks": whole, "rows": 2 * pairs, "pairs": pairs}
            and keyed == {"clicks": whole, "rows": VISITORS}
        )
        rows = sum(run["rows"] or 0 for run in runs)
        print(
            f"batch: {'ok' if ok else 'FAILED'} runs={len(runs)} rows={rows} lost={lost} "
            f"duplicated={duplicated}"
        )
        return ok

    async def _heard(self) -> Any:
        """When all of it is archived, or as it is when the time is over."""
        asked = "select sum(clicks) as clicks, count(*) as events from Clicked"
        deadline_ms = CLOCK.monotonic_ms() + ARCHIVED_MS
        while True:
            (heard,) = json.loads(await self.command("archive", "query", asked, "--json"))
            if heard["events"] >= 2 * VISITORS or CLOCK.monotonic_ms() > deadline_ms:
                return heard
            await CLOCK.sleep_ms(500)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    Way.ask(parser)
    sys.exit(asyncio.run(main(Way.of(parser.parse_args()))))
