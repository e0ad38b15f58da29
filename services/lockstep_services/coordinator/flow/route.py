"""The route: the processes that carry an app are asked what passes, now."""

from __future__ import annotations

from aiohttp import web

from lockstep.bus import Topics
from lockstep.clock import Clock
from lockstep.control import FlowTold, HeartbeatWatch, ask_flows
from lockstep_services.coordinator.desired import DesiredState
from lockstep_services.coordinator.flow.described import Flow, FlowNode
from lockstep_services.coordinator.flow.figures import Figures, Heard
from lockstep_services.coordinator.flow.structure import Part, Structure
from lockstep_services.coordinator.status import of_layout


class FlowRoute:
    """Handler over the desired state, the heartbeats and what processes tell."""

    def __init__(
        self, desired: DesiredState, watch: HeartbeatWatch, topics: Topics, clock: Clock
    ) -> None:
        self._desired = desired
        self._watch = watch
        self._topics = topics
        self._clock = clock

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The path."""
        router.add_get("/v1/apps/{app}/flow", self._show)

    async def _show(self, request: web.Request) -> web.Response:
        return web.json_response(await self._flow(request.match_info["app"]))

    async def _flow(self, app: str) -> Flow:
        one = await self._desired.get(app)
        view = await self._desired.layouts.view(one)
        told = await self._told(one.app)
        sent = {name for answer in told.values() if answer is not None for name in answer.taken}
        replicas = of_layout(one.layout, self._watch.groups(one.app))
        heard = Heard.of(replicas, told, self._watch.alive("publisher"), one.app)
        structure = Structure(view, sent, heard.archives)
        figures = Figures(structure, heard)
        return {
            "app": one.app,
            "version": one.version,
            "measured_ms": self._clock.now_ms(),
            "groups": figures.groups(),
            "nodes": [_node(part) for part in structure.parts],
            "edges": figures.edges(),
            "silent": heard.silent,
        }

    async def _told(self, app: str) -> dict[tuple[str, str], FlowTold | None]:
        """Processors that carry nothing of it are not asked."""
        carriers = {beat.node: beat for beat, _ in self._watch.groups(app)}
        watch = self._watch
        beats = [*carriers.values(), *watch.alive("receiver"), *watch.alive("presenter")]
        return await ask_flows(self._topics, app, beats)


def _node(part: Part) -> FlowNode:
    return {
        "id": part.id,
        "kind": part.kind,
        "name": part.name,
        "group": part.group,
        "detail": part.detail,
    }
