"""On-demand queries on the past of a stream, through the real suite: what is archived is what a
table of the same rows says, and what is not archived is said."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from lockstep.cli.command import app as command
from tests.integration.services.cluster import CLOCK, Cluster
from tests.integration.services.conftest import Start
from tests.integration.services.pasts import archived, in_archive
from tests.integration.services.test_on_demand_writes import ask

NODES = ("coordinator", "processor-1", "receiver", "publisher", "presenter")
TEXT = (
    "@app:name('Past') define stream Trade (symbol string, price double);"
    " @archive(enable='false') define stream Quiet (a int);"
    " define table Kept (symbol string, price double);"
    " from Trade select symbol, price insert into Kept;"
    " from Trade#window.length(3) select symbol, sum(price) as total insert into Totals;"
)


async def said(cluster: Cluster, query: str) -> list[list[Any]]:
    """The rows."""
    status, answer = await ask(cluster, "Past", query)
    assert status == 200, answer
    found: list[list[Any]] = answer["records"]
    return found


async def test_the_past_of_a_stream(cluster_of: Start, tmp_path: Path) -> None:
    """What came in and what was published; by the command, too; and what cannot be asked."""
    async with cluster_of(*NODES, **archived(tmp_path)) as cluster:
        app = await cluster.deploy(TEXT)
        began_ms = CLOCK.now_ms()
        for at in range(30):
            await cluster.send(app, "Trade", {"symbol": "XYZ"[at % 3], "price": at / 8})
        await cluster.send(app, "Quiet", {"a": 1})
        rows = await cluster.published_count(app, 30)
        await in_archive(cluster, app)
        within = f"within {began_ms - 60_000}L, {CLOCK.now_ms() + 60_000}L"
        for on, select in (
            (
                "",
                "select symbol, sum(price) as total, count() as n group by symbol order by symbol",
            ),
            ("on symbol == 'X' and price > 1.0", "select price order by price desc limit 3"),
            ("on price > 2.5 or symbol == 'Y'", "select symbol, price"),
        ):
            there = await said(cluster, f"from Trade {on} {within} {select}")
            assert there
            assert there == await said(cluster, f"from Kept {on} {select}")

        async def published() -> list[list[Any]]:
            return await said(cluster, f"from Totals {within} select symbol, total")

        sql = "select symbol, sum(price), count(*) from Trade group by symbol order by symbol"
        status, answer = await cluster.call(
            "POST", "coordinator", f"/v1/apps/{app}/archive/query", json={"sql": sql}
        )
        select = "select symbol, sum(price) as total, count() as n group by symbol order by symbol"
        assert (status, answer["rows"]) == (
            200,
            await said(cluster, f"from Trade {within} {select}"),
        )
        assert await published() == [list(row.data) for row in rows]
        wrong = [
            (f"from Quiet {within}", "nothing is archived of stream 'Quiet'"),
            ("from Trade", "keeps no events"),
            (f"from Kept {within}", "'within' for streams that are archived"),
            (f"from Trade on symbol == Kept.symbol in Kept {within}", "what is now"),
        ]
        for query, why in wrong:
            status, answer = await ask(cluster, app, query)
            assert (status, why in answer["detail"]) == (400, True), answer
            assert answer["hint"]
        result = await cluster_query(cluster, f"from Trade {within} select count() as n")
        assert json.loads(result)["records"] == [[30]]


async def cluster_query(cluster: Cluster, query: str) -> str:
    """What `lockstep query --json` prints."""
    addresses = [f"--{one}={cluster.url(one)}" for one in ("receiver", "presenter", "coordinator")]
    arguments = [*addresses, "query", "Past", query, "--json"]
    done = await asyncio.to_thread(CliRunner().invoke, command, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


async def test_without_an_archive_it_is_refused(cluster_of: Start) -> None:
    """And says what it would take."""
    async with cluster_of("coordinator", "processor-1", "presenter") as cluster:
        app = await cluster.deploy(TEXT)
        status, answer = await ask(cluster, app, "from Trade within '2026-03-01'")
        assert status == 400, answer
        assert "nothing is archived here" in answer["detail"]
        assert "archive.folder" in answer["hint"]
