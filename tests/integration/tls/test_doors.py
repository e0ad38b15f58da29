"""A door with TLS: who gets in, how it is announced, and certificates that are replaced."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from lockstep.cli.addresses import Addresses
from lockstep.cli.caller import Caller
from lockstep.cli.client import Client
from lockstep.cli.refusals import RefusedError
from lockstep.clock import SystemClock
from lockstep.events import UnavailableError
from lockstep.frame.callers import TOKEN_COOKIE
from lockstep.frame.health import Readiness
from lockstep.frame.web import Door
from lockstep.rights import ROUTES
from lockstep.rights.needs import KNOWN
from lockstep.settings import load_settings
from lockstep.telemetry import Metrics, get_logger
from lockstep.tls import TlsFiles, calling
from tests.tls.certificates import Authority
from tests.tls.servers import doors

TOKEN = "s3cret"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Of the door and of its callers."""
    return Authority(tmp_path)


@contextlib.asynccontextmanager
async def open_door(authority: Authority, **given: str) -> AsyncIterator[str]:
    """Its address; it asks for certificates, and answers at /hello."""
    settings = load_settings(
        {**doors(authority, authority.give("door"), authority.give("own")), **given}
    )
    readiness = Readiness()
    readiness.open()
    door = Door(
        settings.server, readiness, Metrics(), SystemClock(), get_logger(),
        max_body_bytes=1_000, needs={**ROUTES, ("GET", "/hello"): KNOWN},
    )  # fmt: skip

    async def hello(_: web.Request) -> web.Response:
        return web.json_response({"hello": True})

    door.application.router.add_get("/hello", hello)
    await door.open()
    try:
        yield door.url
    finally:
        await door.close()


async def status(url: str, files: TlsFiles) -> int:
    """Of an answer to who shows that."""
    connector = aiohttp.TCPConnector(ssl=calling(files) or True)
    async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as response:
        await response.read()
        return response.status


async def test_who_shows_no_certificate_is_told_health_alone(authority: Authority) -> None:
    """Probes of a machine have none; all others are refused, whatever they ask for."""
    async with open_door(authority) as url:
        assert url.startswith("https://127.0.0.1:")
        for path in ("/healthz", "/health", "/readyz"):
            assert await status(url + path, authority.files()) == 200
        for path in ("/hello", "/metrics", "/openapi.json", "/nowhere"):
            assert await status(url + path, authority.files()) == 403, path
        assert await status(f"{url}/hello", authority.files(authority.give("caller"))) == 200


async def test_a_certificate_of_another_authority_is_refused(authority: Authority) -> None:
    """By the handshake, also for what is open to all."""
    stranger = Authority(authority.folder / "other", "other").give("stranger")
    files = TlsFiles(str(authority.file), str(stranger.certificate), str(stranger.key))
    async with open_door(authority) as url:
        with pytest.raises((aiohttp.ClientError, ConnectionError, ssl.SSLError)):
            await status(f"{url}/healthz", files)


async def test_a_certificate_is_no_token(authority: Authority) -> None:
    """Where the cluster has a secret, too, a caller needs both."""
    own = authority.files(authority.give("caller"))
    async with open_door(authority, LOCKSTEP_SERVER__TOKEN=TOKEN) as url:
        assert await status(f"{url}/hello", own) == 401
        async with Client(Addresses(url, url, url, TOKEN, own)) as client:
            assert await client.request("GET", f"{url}/hello") == {"hello": True}
        async with Client(Addresses(url, url, url, TOKEN, authority.files())) as client:
            with pytest.raises(RefusedError, match="client certificate"):
                await client.request("GET", f"{url}/hello")


async def test_a_short_command_speaks_tls(authority: Authority) -> None:
    """With the files that it is given, and not to a door of somebody else."""
    own = authority.files(authority.give("caller"))
    other = Authority(authority.folder / "other", "other")
    async with open_door(authority) as url:

        def asked(tls: TlsFiles) -> object:
            return Caller(Addresses(url, url, url, tls=tls)).request("GET", f"{url}/hello")

        assert await asyncio.to_thread(asked, own) == {"hello": True}
        with pytest.raises(UnavailableError, match="certificate is not to be trusted"):
            await asyncio.to_thread(asked, other.files())
        async with Client(Addresses(url, url, url, tls=other.files())) as client:
            with pytest.raises(UnavailableError, match="certificate is not to be trusted"):
                await client.request("GET", f"{url}/hello")


async def test_an_open_host_may_be_guarded_by_certificates(authority: Authority) -> None:
    """Then no token is needed to listen beyond the loopback."""
    async with open_door(authority, LOCKSTEP_SERVER__HOST="0.0.0.0") as url:
        port = url.rpartition(":")[2]
        assert await status(f"https://127.0.0.1:{port}/hello", authority.files()) == 403


async def test_a_replaced_certificate_is_shown_to_new_callers(authority: Authority) -> None:
    """While the door is open, and the connection of an old caller goes on."""
    files = authority.files(authority.give("caller"))
    async with open_door(authority) as url:
        host, port = url.removeprefix("https://").split(":")

        async def shown() -> str:
            _, writer = await asyncio.open_connection(host, int(port), ssl=calling(files))
            serial = writer.get_extra_info("peercert")["serialNumber"]
            writer.close()
            return str(serial)

        before = await shown()
        async with Client(Addresses(url, url, url, tls=files)) as client:
            await client.request("GET", f"{url}/hello")
            authority.give("door")
            assert await shown() != before
            await client.request("GET", f"{url}/hello")


async def test_the_cookie_of_a_log_in_stays_within_tls(authority: Authority) -> None:
    """Browsers then never show it in the clear."""
    own = calling(authority.files(authority.give("caller")))
    async with (
        open_door(authority, LOCKSTEP_SERVER__TOKEN=TOKEN) as url,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=own or True)) as session,
        session.get(f"{url}/hello?token={TOKEN}", allow_redirects=False) as response,
    ):
        cookie = response.cookies[TOKEN_COOKIE]
        assert (response.status, cookie["secure"], cookie["httponly"]) == (303, True, True)
