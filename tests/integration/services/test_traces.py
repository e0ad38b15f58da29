"""One event's way from the door to the sink and the page, as a collector sees it."""

from __future__ import annotations

from aiohttp import web

from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start
from tests.integration.services.webhook import webhook
from tests.otlp.receiver import Seen, receiving
from tests.otlp.stages import STAGES

TEXT = """
@app:name('Traced')
define stream In (a string);
@sink(type='http', publisher.url='{url}', @map(type='json'))
define stream Out (a string);
from In select a insert into Out;
"""


async def test_a_trace_has_a_span_of_each_stage(cluster_of: Start) -> None:
    """In the order of the journey, each the child of the one before; a webhook can go on with
    it."""
    told: list[str] = []

    async def taken(request: web.Request) -> web.Response:
        told.append(request.headers["traceparent"])
        return web.Response()

    nodes = ("coordinator", "processor-1", "receiver", "publisher", "presenter")
    with receiving() as spans:
        async with (
            webhook(taken) as url,
            cluster_of(
                *nodes,
                LOCKSTEP_TELEMETRY__TRACE_RATIO="1.0",
                LOCKSTEP_TELEMETRY__OTLP_URL=spans.url,
            ) as cluster,
        ):
            app = await cluster.deploy(TEXT.format(url=url))
            await cluster.send(app, "In", ["x"])

            async def whole() -> dict[str, Seen] | None:
                found = {span.name: span for span in spans.seen}
                return found if found.keys() == STAGES.keys() else None

            found = await until(whole, "a span of each stage", seen=lambda: spans.seen)
    assert {name: span.service for name, span in found.items()} == STAGES
    assert len({span.trace_id for span in found.values()}) == 1
    parents = [("append", "receive"), ("fold", "append"), ("publish", "fold")]
    for child, parent in [*parents, ("deliver", "publish"), ("present", "publish")]:
        assert found[child].parent_id == found[parent].span_id, child
    assert told == [f"00-{found['deliver'].trace_id}-{found['deliver'].span_id}-01"]
