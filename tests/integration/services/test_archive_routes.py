"""The past over REST: what an app took in and gave out is listed and asked while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start

TEXT = """@app:name('Past')
define stream Reading (roomName string, celsius double, place string);
from Reading[celsius > 30.0] select roomName, celsius, place insert into Hot;
"""


async def test_the_past_is_asked(cluster_of: Start, tmp_path: Path) -> None:
    """A list of tables, answers by SQL, and refusals in words."""
    archive = {
        "LOCKSTEP_ARCHIVE__FOLDER": str(tmp_path / "archive"),
        "LOCKSTEP_ARCHIVE__BY_DEFAULT": "true",
        "LOCKSTEP_ARCHIVE__INTERVAL_MS": "50",
    }
    async with cluster_of(
        "coordinator", "processor-1", "receiver", "publisher", **archive
    ) as cluster:
        app = await cluster.deploy(TEXT)
        rooms = [{"roomName": f"r{at}", "celsius": 29.0 + at, "place": None} for at in range(4)]
        await cluster.send(app, "Reading", rooms)
        path = f"/v1/apps/{app}/archive"

        async def there() -> Any:
            status, answer = await cluster.call("GET", "coordinator", path)
            assert status == 200, answer
            rows = {(one["side"], one["stream"]): one["rows"] for one in answer["tables"]}
            is_there = rows.get(("input", "Reading")) == 4 and rows.get(("output", "Hot")) == 2
            return answer if is_there else None

        listed = await until(there, "an archive of both sides")
        assert all(one["from_ms"] for one in listed["tables"] if one["stream"])

        async def ask(sql: str, **more: Any) -> tuple[int, Any]:
            return await cluster.call(
                "POST", "coordinator", f"{path}/query", json={"sql": sql, **more}
            )

        sql = "select roomName, celsius from Reading order by celsius desc"
        status, answer = await ask(sql, limit=2)
        assert status == 200, answer
        assert answer["columns"] == ["roomName", "celsius"]
        assert (answer["rows"], answer["more"]) == ([["r3", 32.0], ["r2", 31.0]], True)
        status, answer = await ask("select roomName, celsius, place from Hot order by celsius")
        assert (status, answer["rows"]) == (200, [["r2", 31.0, None], ["r3", 32.0, None]]), answer
        status, answer = await ask("drop table Reading")
        assert status == 400, answer
        status, answer = await ask("")
        assert status == 400, answer
