"""Google's own emulator of Pub/Sub, and a door in front of it that asks for tokens, as the service
does, and can be shut: the emulator forgets everything when it ends, the service does not."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import aiohttp
import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from lockstep.embedded.java import java_home
from lockstep.testing.connectors import Arrived
from tests.contract.connectors.brokers import free_port, reachable
from tests.google_cloud_storage.server import new_key

PROJECT: Final = "project-x"
EMAIL: Final = "app@project.example"
HOST: Final = "127.0.0.1"
SCOPE: Final = "https://www.googleapis.com/auth/pubsub"
_PLACE: Final = Path("/usr/lib/google-cloud-sdk/platform/pubsub-emulator")
"""Where Google's package for Debian puts it."""


class Emulator:
    """In a process of its own, which no event loop owns; PUBSUB_EMULATOR can name its folder."""

    def __init__(self) -> None:
        folder = Path(os.environ.get("PUBSUB_EMULATOR") or _PLACE)
        found = sorted(folder.glob("lib/cloud-pubsub-emulator-*.jar"))
        if not found:
            pytest.skip("no emulator of Pub/Sub (Google's package, or PUBSUB_EMULATOR)")
        self._port = free_port()
        words = [str(java_home() / "bin/java"), "-jar", str(found[-1])]
        self._words = [*words, f"--host={HOST}", f"--port={self._port}"]
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://{HOST}:{self._port}"

    def start(self) -> None:
        """Returns when it can be reached."""
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            self._words, stdout=quiet, stderr=quiet, start_new_session=True
        )
        asyncio.run(reachable(self._port))

    def stop(self) -> None:
        """Kills it; idempotent."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    async def asked(self, method: str, what: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """As another client than ours asks it."""
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                method, f"{self.url}/v1/projects/{PROJECT}/{what}", json=wanted
            ) as answer,
        ):
            answer.raise_for_status()
            found: dict[str, Any] = await answer.json(content_type=None)
            return found


class PubSubFar:
    """A topic with a subscription, behind the door. The first `past` tokens are no more good."""

    def __init__(self, emulator: Emulator, name: str) -> None:
        self._emulator = emulator
        self.topic, self.subscription = f"t-{name}", f"s-{name}"
        self._key = new_key()
        self._runner: web.AppRunner | None = None
        self._port = free_port()
        self._got: list[Arrived] = []
        self.given = self.past = 0
        self.losing = ""
        """The next request with this at its end is done, and not answered."""

    @property
    def options(self) -> dict[str, str]:
        """Of a source; a sink takes no subscription."""
        pem = self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        key = {
            "type": "service_account", "client_email": EMAIL, "private_key": pem.decode(),
            "token_uri": f"http://{HOST}:{self._port}/token",
        }  # fmt: skip
        return {
            "project.id": PROJECT, "topic.id": self.topic, "credential.json": json.dumps(key),
            "endpoint": f"http://{HOST}:{self._port}",
        }  # fmt: skip

    async def make(self) -> None:
        """The topic; what is published before there is a subscription nobody gets."""
        await self._emulator.asked("PUT", f"topics/{self.topic}", {})
        wanted = {"topic": f"projects/{PROJECT}/topics/{self.topic}", "ackDeadlineSeconds": 60}
        await self._emulator.asked("PUT", f"subscriptions/{self.subscription}-seen", wanted)

    async def start(self) -> None:
        """Takes requests, where it did before."""
        if self._runner is not None:
            return
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/token", self._give)
        app.router.add_route("*", "/v1/{rest:.*}", self._take)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port, reuse_address=True).start()

    async def stop(self) -> None:
        """Connections are refused from now on."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def send(self, payload: bytes) -> None:
        """As another program publishes it."""
        await self.publish(payload)

    async def publish(self, payload: bytes, **attributes: str) -> str:
        """The message's id."""
        message = {"data": base64.b64encode(payload).decode(), "attributes": attributes}
        wanted = {"messages": [message]}
        told = await self._emulator.asked("POST", f"topics/{self.topic}:publish", wanted)
        return str(told["messageIds"][0])

    async def seen(self) -> list[dict[str, Any]]:
        """All messages of the topic that were not seen before."""
        name = f"subscriptions/{self.subscription}-seen"
        found: list[dict[str, Any]] = []
        while some := (
            await self._emulator.asked(
                "POST", f"{name}:pull", {"maxMessages": 100, "returnImmediately": True}
            )
        ).get("receivedMessages", []):
            handles = [each["ackId"] for each in some]
            await self._emulator.asked("POST", f"{name}:acknowledge", {"ackIds": handles})
            found += [each["message"] for each in some]
        return found

    async def received(self) -> Sequence[Arrived]:
        """With the identities that the sink gave."""
        self._got += [
            Arrived(base64.b64decode(each["data"]), each["attributes"]["lockstep-id"])
            for each in await self.seen()
        ]
        return self._got

    async def _give(self, request: web.Request) -> web.Response:
        form: Mapping[str, Any] = await request.post()
        claims = jwt.decode(
            form["assertion"], self._key.public_key(), algorithms=["RS256"],
            audience=f"http://{HOST}:{self._port}/token", issuer=EMAIL,
        )  # fmt: skip
        assert claims["scope"] == SCOPE
        self.given += 1
        return web.json_response({"access_token": f"t{self.given}", "token_type": "Bearer"})

    async def _take(self, request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer t")
        if not token.isdigit() or not self.past < int(token) <= self.given:
            return web.Response(status=401)
        body = await request.read()
        headers = {"Content-Type": request.headers["Content-Type"]}
        url = f"{self._emulator.url}{request.path_qs}"
        async with (
            aiohttp.ClientSession() as session,
            session.request(request.method, url, data=body, headers=headers) as got,
        ):
            said = await got.read()
        if self.losing and request.path.endswith(self.losing):
            self.losing = ""
            assert request.transport is not None
            request.transport.abort()
        return web.Response(status=got.status, body=said)
