"""A schema registry for tests, with the public HTTP interface of Confluent's; it can be away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import encode_basic_auth, web


class RegistryServer:
    """Keeps schemas. `asked`: all requests. `is_away`: it answers 503. `password`: it answers who
    gives it, and nobody else."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self.is_away = False
        self.password = ""
        self._schemas: list[dict[str, Any]] = []  # by id, from 1
        self._subjects: dict[str, list[int]] = {}

    def put(self, subject: str, text: str, kind: str = "AVRO", references: Any = ()) -> int:
        """Registers a schema; gives its id. The same text has the same id."""
        entry = {"schema": text, "schemaType": kind, "references": list(references)}
        if entry not in self._schemas:
            self._schemas.append(entry)
        number = self._schemas.index(entry) + 1
        versions = self._subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    @asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator[RegistryServer]:
        """Serves, on a port of 127.0.0.1."""
        app = web.Application(middlewares=[self._counted])
        app.router.add_get("/schemas/ids/{id}", self._by_id)
        app.router.add_get("/subjects/{subject}/versions/{version}", self._version)
        app.router.add_post("/subjects/{subject}/versions", self._register)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()

    @web.middleware
    async def _counted(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path}")
        if self.is_away:
            return web.json_response({"error_code": 50003, "message": "away"}, status=503)
        given = request.headers.get("Authorization", "")
        if self.password and given != encode_basic_auth("lockstep", self.password):
            return web.json_response({"error_code": 401, "message": "who are you?"}, status=401)
        response: web.StreamResponse = await handler(request)
        return response

    async def _by_id(self, request: web.Request) -> web.Response:
        number = int(request.match_info["id"])
        if not 1 <= number <= len(self._schemas):
            told = {"error_code": 40403, "message": f"Schema {number} not found"}
            return web.json_response(told, status=404)
        return web.json_response(_as_answered(self._schemas[number - 1]))

    async def _version(self, request: web.Request) -> web.Response:
        versions = self._subjects.get(request.match_info["subject"], [])
        number = int(request.match_info["version"])
        if not 1 <= number <= len(versions):
            told = {"error_code": 40402, "message": "Version not found."}
            return web.json_response(told, status=404)
        entry = self._schemas[versions[number - 1] - 1]
        return web.json_response({"version": number, **_as_answered(entry)})

    async def _register(self, request: web.Request) -> web.Response:
        body = await request.json()
        if not body["schema"].strip():
            told = {"error_code": 42201, "message": "Empty schema"}
            return web.json_response(told, status=422)
        kind = body.get("schemaType", "AVRO")
        return web.json_response(
            {"id": self.put(request.match_info["subject"], body["schema"], kind)}
        )


def _as_answered(entry: dict[str, Any]) -> dict[str, Any]:
    """As the real one: Avro is not named, and no references are no member."""
    left_out = {"schemaType": "AVRO", "references": []}
    return {key: value for key, value in entry.items() if left_out.get(key) != value}
