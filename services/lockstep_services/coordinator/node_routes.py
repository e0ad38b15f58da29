"""The routes about processors: which there are, draining one, and levelling them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

from lockstep.control import HeartbeatWatch, unit_label
from lockstep.frame import Problem
from lockstep.frame.bodies import read_body
from lockstep_services.coordinator.board import Board, Facts
from lockstep_services.coordinator.desired import DesiredState
from lockstep_services.coordinator.draining import Drains
from lockstep_services.coordinator.forward import Forwarder
from lockstep_services.coordinator.placement import foresee, unready
from lockstep_services.coordinator.status import nodes_json
from lockstep_services.coordinator.surveying import Survey
from lockstep_services.coordinator.watchman import Watchman


class _Rebalance(msgspec.Struct):
    dry_run: bool = False


class NodeRoutes:
    """Handlers over the survey and the watchman."""

    def __init__(
        self,
        desired: DesiredState,
        drains: Drains,
        watch: HeartbeatWatch,
        survey: Survey,
        watchman: Watchman,
        forwarder: Forwarder,
    ) -> None:
        self._desired = desired
        self._drains = drains
        self._watch = watch
        self._survey = survey
        self._watchman = watchman
        self._forwarder = forwarder

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        write = self._forwarder.by_leader
        router.add_get("/v1/nodes", self._nodes)
        router.add_get("/v1/nodes/{node}/drain", self._drained)
        router.add_put("/v1/nodes/{node}/drain", write(self._drain))
        router.add_delete("/v1/nodes/{node}/drain", write(self._undo))
        router.add_post("/v1/rebalance", write(self._rebalance))

    async def _nodes(self, _request: web.Request) -> web.Response:
        found = nodes_json(self._watch, await self._drains.drained())
        return web.json_response({"nodes": found})

    async def _drain(self, request: web.Request) -> web.Response:
        node = request.match_info["node"]
        facts = await self._facts()
        living = sorted(one.name for one in facts.nodes)
        placed = {name for names in facts.placements.values() for name in names}
        if node not in living and node not in placed:
            raise Problem(
                HTTPStatus.NOT_FOUND, f"no processor '{node}' is known",
                hint=f"these live: {', '.join(living) or 'none'}",
            )  # fmt: skip
        await self._drains.put(node, drained=True)
        return await self._drained(request)

    async def _undo(self, request: web.Request) -> web.Response:
        await self._drains.put(request.match_info["node"], drained=False)
        return await self._drained(request)

    async def _drained(self, request: web.Request) -> web.Response:
        node = request.match_info["node"]
        is_drained = node in await self._drains.drained()
        left = left_on(node, await self._facts(), self._watch)
        answer = {"node": node, "drained": is_drained, **left}
        return web.json_response(answer)

    async def _rebalance(self, request: web.Request) -> web.Response:
        body = await read_body(request, _Rebalance) if request.can_read_body else _Rebalance()
        facts = await self._facts()
        if not body.dry_run:
            self._watchman.rebalance()
        moves, after = foresee(facts, self._survey.rules(at_once=True))
        now, then = Board(facts).loads, Board(after).loads
        answer = {
            "dry_run": body.dry_run,
            "moves": [
                {
                    "unit": unit_label(one.app),
                    "what": "lead" if one.lead else "replica",
                    "from": one.source,
                    "to": one.to,
                    "why": one.reason.value,
                }
                for one in moves
            ],
            "loads": [{"node": name, "now": now[name], "then": then[name]} for name in sorted(now)],
            "not_ready": [unit_label(unit) for unit in unready(facts)],
        }
        return web.json_response(answer)

    async def _facts(self) -> Facts:
        return await self._survey.facts(await self._desired.list())


def _is_stuck(board: Board, unit: str, node: str) -> bool:
    """No other processor can take the replica, nor its lead if it has that."""
    targets = board.targets[unit]
    if node not in targets or board.best(unit, node) is not None:
        return False
    others = [one for one in targets if one != node and one in board.open]
    return board.facts.leaders.get(unit) != node or not others


def left_on(node: str, facts: Facts, watch: HeartbeatWatch) -> dict[str, Any]:
    """What a processor still carries, or shall carry, and what keeps that from going."""
    placed = {unit for unit, nodes in facts.placements.items() if node in nodes}
    leads = {unit for unit, leader in facts.leaders.items() if leader == node}
    board = Board(facts)
    stuck = [unit for unit in board.targets if _is_stuck(board, unit, node)]
    carried = sum(len(b.groups) for b in watch.alive("processor") if b.node == node)
    return {
        "empty": not (placed or carried),
        "left": [unit_label(unit) for unit in sorted(placed)],
        "leads": [unit_label(unit) for unit in sorted(leads)],
        "carried": carried,
        "no_room": [unit_label(unit) for unit in stuck],
    }
