"""An emulator of Google Cloud Storage, and what stands in front of the real one: an address that
gives tokens to a service account, and a door that asks each upload for one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final
from urllib.parse import quote
from urllib.request import urlopen

import aiohttp
import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from gcp_storage_emulator.server import create_server  # type: ignore[import-untyped]

BUCKET: Final = "lake"
SHUT_BUCKET: Final = "not-ours"
EMAIL: Final = "writer@project.example"
KEY_ID: Final = "the-key-id"
HOST: Final = "127.0.0.1"
SCOPE: Final = "https://www.googleapis.com/auth/devstorage.read_write"


class Emulator:
    """The store, as another client than ours sees it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://{HOST}:{port}"

    def about(self, prefix: str) -> dict[str, dict[str, Any]]:
        """What is known of each object, by its name behind the prefix."""
        listed = json.loads(self._read(f"/storage/v1/b/{BUCKET}/o?prefix={quote(prefix)}"))
        return {one["name"].removeprefix(prefix): one for one in listed["items"]}

    def objects(self, prefix: str) -> dict[str, bytes]:
        """All that the store holds below a prefix."""
        return {name: self.read(prefix + name) for name in self.about(prefix)}

    def read(self, name: str) -> bytes:
        """One object."""
        place = f"/download/storage/v1/b/{BUCKET}/o"
        return self._read(f"{place}/{quote(name, safe='')}?alt=media")

    def _read(self, path: str) -> bytes:
        with urlopen(self.url + path) as response:
            return bytes(response.read())


@contextmanager
def emulator() -> Iterator[Emulator]:
    """With an empty bucket."""
    server = create_server(HOST, 0, in_memory=True, default_bucket=BUCKET)
    with server:
        yield Emulator(server._api._httpd.server_address[1])


def new_key() -> RSAPrivateKey:
    """Of a service account."""
    return generate_private_key(public_exponent=65_537, key_size=2_048)


class Door:
    """Gives the tokens t1, t2 …; the first `past` are no more good. Refuses a stranger's key."""

    def __init__(self, store: Emulator, key: RSAPrivateKey) -> None:
        self._store = store
        self._key = key
        self._runner: web.AppRunner | None = None
        self._port = 0
        self.given = 0
        self.past = 0
        self.losing = False
        """The next upload is done, and not answered."""

    @property
    def url(self) -> str:
        """Both for tokens and uploads."""
        return f"http://{HOST}:{self._port}"

    def key_file(self, key: RSAPrivateKey | None = None) -> str:
        """As Google gives it to who makes an account."""
        pem = (key or self._key).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )  # fmt: skip
        return json.dumps({
            "type": "service_account", "client_email": EMAIL, "private_key_id": KEY_ID,
            "private_key": pem.decode(), "token_uri": f"{self.url}/token",
        })  # fmt: skip

    async def start(self) -> None:
        """Takes requests, where it did before."""
        app = web.Application()
        app.router.add_post("/token", self._give)
        app.router.add_post("/upload/storage/v1/b/{bucket}/o", self._take)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Connections are refused from now on."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _give(self, request: web.Request) -> web.Response:
        form: Mapping[str, Any] = await request.post()
        assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        try:
            claims = jwt.decode(
                form["assertion"], self._key.public_key(), algorithms=["RS256"],
                audience=f"{self.url}/token", issuer=EMAIL,
                options={"require": ["exp", "iat", "aud", "iss"]},
            )  # fmt: skip
        except jwt.PyJWTError as error:
            answer = {"error": "invalid_grant", "error_description": str(error)}
            return web.json_response(answer, status=400)
        assert jwt.get_unverified_header(form["assertion"])["kid"] == KEY_ID
        assert claims["scope"] == SCOPE
        assert claims["exp"] - claims["iat"] == 3_600
        self.given += 1
        answer = {"access_token": f"t{self.given}", "token_type": "Bearer", "expires_in": "3600"}
        return web.json_response(answer)

    async def _take(self, request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer t")
        if not token.isdigit() or not self.past < int(token) <= self.given:
            return web.Response(status=401)
        if request.match_info["bucket"] == SHUT_BUCKET:
            answer = {"error": {"code": 403, "message": f"{EMAIL} may not create objects"}}
            return web.json_response(answer, status=403)
        headers = {"Content-Type": request.headers["Content-Type"]}
        body = await request.read()
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self._store.url}{request.path_qs}", data=body, headers=headers) as got,
        ):
            said = await got.read()
        if self.losing:
            self.losing = False
            assert request.transport is not None
            request.transport.abort()
        return web.Response(status=got.status, body=said)


@asynccontextmanager
async def door(store: Emulator, key: RSAPrivateKey) -> AsyncIterator[Door]:
    """In front of the emulator."""
    found = Door(store, key)
    await found.start()
    try:
        yield found
    finally:
        await found.stop()
