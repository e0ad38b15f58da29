"""An app whose windows hold as many rows as they may: the door is closed until they are emptied."""

from __future__ import annotations

import json
from typing import Any

from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start

TEXT = """
@app:name('FullState')
define stream In (k string, v long);
from In#window.time(2 sec) select k, count() as n insert into Out;
"""
LIMIT = 40


async def test_over_the_limit_senders_are_told_and_under_it_they_go_on(
    cluster_of: Start, spark_env: None
) -> None:
    """What was accepted is all there; the status says what is the matter, and stops saying so."""
    settings = {
        "LOCKSTEP_PROCESSOR__EXECUTOR": "spark",
        "LOCKSTEP_PROCESSOR__STATE_MAX_ROWS": str(LIMIT),
    }
    async with cluster_of("coordinator", "processor-1", "receiver", **settings) as cluster:
        app = await cluster.deploy(TEXT)
        path = f"/v1/apps/{app}/streams/In/events"
        sent = 0

        async def send(count: int) -> tuple[int, Any]:
            nonlocal sent
            body = "\n".join(json.dumps({"k": "a", "v": i}) for i in range(count))
            headers = {"Content-Type": "application/x-ndjson"}
            status, answer = await cluster.call(
                "POST", "receiver", path, body=body, headers=headers
            )
            sent += count if status == 200 else 0
            return status, answer

        async def replica() -> Any:
            (one,) = await cluster.settled(app, 1)
            return one

        async def refused() -> Any:
            # It does not last: what is over the limit leaves the window after a while.
            status, answer = await send(LIMIT + 1)
            found = await replica()
            is_told = "state_max_rows" in (found["trouble"] or "")
            return (answer, found) if status == 429 and is_told else None

        async def accepted() -> bool:
            return (await send(1))[0] == 200

        assert (await send(1))[0] == 200
        told, found = await until(refused, "a closed door, and a status that says why")
        assert "hold as many rows as they may" in json.dumps(told)
        assert f"processor.state_max_rows = {LIMIT}" in found["trouble"]
        assert found["state_rows"] > LIMIT
        await until(accepted, "an open door")
        rows = await cluster.published_count(app, sent)
        assert len(rows) == sent

        async def content() -> bool:
            return (await replica())["trouble"] is None

        await until(content, "a status without trouble")
        page = f"{cluster.nodes['processor-1'].url}/metrics"
        async with cluster.session.get(page) as response:
            assert f"lockstep_processor_state_max_rows {LIMIT}.0" in await response.text()
