"""Operators and users: what they ask the cluster for, again until they are told."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lockstep.events import LockstepError, Position, UnavailableError
from tests.simulation.clients import HTTP_OK
from tests.simulation.door import Reply, call

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster

ASK_TIMEOUT_MS: Final = 6_000
DEPLOY_PAUSE_MS: Final = 200
LOOK_PAUSE_MS: Final = 1_000


class People:
    """`undeploying`: how many are about to deploy anew. `written`: where writes were applied."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.undeploying = 0
        self.written: dict[str, Position] = {}
        self._one = asyncio.Lock()

    def deploying(self) -> AbstractAsyncContextManager[object]:
        """Who deploys a fleet does so alone: none is undeployed for another text."""
        return nullcontext() if self._cluster.parallel is None else self._one

    async def deploy(self, text: str) -> None:
        """Tries until it is accepted."""
        wish: dict[str, Any] = {"text": text}
        if self._cluster.parallel is not None:
            wish["parallel"] = self._cluster.parallel
        body = msgspec.json.encode(wish)
        while True:
            try:
                reply = await self.ask_coordinators("PUT", "/v1/apps", body)
            except LockstepError:
                reply = None
            if reply is not None and reply.status in (200, 201):
                self._cluster.story.tell("operator", f"deployed {reply.body.decode()}")
                return
            await self._cluster.sleep_ms(DEPLOY_PAUSE_MS)

    async def undeploy(self, *, purge: bool) -> None:
        """Tries until it is gone."""
        path = f"/v1/apps/{self._cluster.app}?purge={str(purge).lower()}"
        while True:
            try:
                reply = await self.ask_coordinators("DELETE", path)
            except LockstepError:
                reply = None
            if reply is not None and reply.status in (200, 404):
                self._cluster.story.tell(
                    "operator", f"undeployed: {reply.status} {reply.body.decode()}"
                )
                return
            await self._cluster.sleep_ms(DEPLOY_PAUSE_MS)

    async def drain(self, node: str, *, undo: bool = False) -> None:
        """Tries until it is accepted, or refused as there is no such processor."""
        path, method = f"/v1/nodes/{node}/drain", "DELETE" if undo else "PUT"
        while True:
            try:
                reply = await self.ask_coordinators(method, path)
            except LockstepError:
                reply = None
            if reply is not None and reply.status in (200, 404):
                self._cluster.story.tell("operator", f"{method} {path}: {reply.body.decode()}")
                return
            await self._cluster.sleep_ms(DEPLOY_PAUSE_MS)

    async def mind_deployment(self) -> None:
        """Until cancelled: a late repetition of an undeployment may take away what was deployed
        since; people look, and deploy again.
        """
        while True:
            await self._cluster.sleep_ms(LOOK_PAUSE_MS)
            if (
                not self.undeploying
                and self._cluster.app not in self._cluster.around.store.shelf.deployments
            ):
                await self.deploy(self._cluster.scenario.app.versions[self._cluster.deployed])

    async def write(self, request_id: str) -> None:
        """An on-demand write, asked for again with the same id until its outcome is told."""
        path = f"/v1/apps/{self._cluster.app}/query"
        body = msgspec.json.encode({"query": self._cluster.scenario.app.write})
        while True:
            node = self._cluster.nodes["presenter-1"]
            try:
                reply = await call(
                    self._cluster.network, self._cluster.host, node.host, node.door, "POST", path,
                    body=body, timeout_ms=ASK_TIMEOUT_MS,
                    headers={"Content-Type": "application/json", "Idempotency-Key": request_id},
                )  # fmt: skip
            except LockstepError:
                reply = None
            if reply is not None and reply.status == HTTP_OK:
                answer = msgspec.json.decode(reply.body)
                self.written[request_id] = answer["position"]
                self._cluster.story.tell("operator", f"{request_id} is applied: {answer}")
                return
            await self._cluster.sleep_ms(DEPLOY_PAUSE_MS)

    async def ask_coordinators(self, method: str, path: str, body: bytes = b"") -> Reply:
        """The first good answer; UnavailableError when nobody gives one."""
        last: Reply | None = None
        for name, node in list(self._cluster.nodes.items()):  # others come and go meanwhile
            if not name.startswith("coordinator") or not node.lives:
                continue
            try:
                last = await call(
                    self._cluster.network, self._cluster.host, node.host, node.door, method, path,
                    body=body, timeout_ms=ASK_TIMEOUT_MS,
                    # A coordinator that does not lead says so instead of passing it on.
                    headers={"Content-Type": "application/json", "X-Lockstep-Forwarded": "1"},
                )  # fmt: skip
            except UnavailableError:
                continue
            if last.status < 500:
                return last
        if last is None:
            raise UnavailableError("no coordinator answers")
        return last
