"""Real servers that speak TLS alone and ask for certificates, and settings that lead to them.

A server that was built without TLS stands behind a process that ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import asyncpg

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import NatsServer, PostgresServer, RedisServer
from lockstep.embedded.process import Command
from lockstep.embedded.programs import postgres_programs
from lockstep.tls import TlsFiles
from tests.tls.certificates import Authority, Pair
from tests.tls.terminator import terminating

_TLS = """\
tls {{
  cert_file: "{certificate}"
  key_file: "{key}"
  ca_file: "{authority}"
  verify: true
}}
"""
_MARK = b"SSL_CTX_new"


class TlsNats(NatsServer):
    """Asks its clients for certificates."""

    files: TlsFiles

    async def _prepare(self) -> None:
        await super()._prepare()
        own = {"certificate": self.files.certificate, "key": self.files.key}
        with (self.directory / "nats.conf").open("a") as configuration:
            configuration.write(_TLS.format(authority=self.files.authority, **own))

    async def _answers(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection(self.machine.host, self.port)
        except OSError:
            return False
        told = await reader.readline()
        writer.close()
        return b'"tls_required":true' in told and b'"jetstream":true' in told


class TlsPostgres(PostgresServer):
    """Asks its clients for certificates, and for the password."""

    files: TlsFiles

    async def _prepare(self) -> None:
        await super()._prepare()
        rule = "hostssl all all all scram-sha-256 clientcert=verify-ca\n"
        (self.directory / "data" / "pg_hba.conf").write_text(rule)
        # It refuses a key that others own or read.
        data = self.directory / "data"
        key = data / "server.key"
        key.write_bytes(Path(self.files.key).read_bytes())
        for name in ("certificate", "authority"):
            source = Path(getattr(self.files, name))
            (data / f"server.{name}").write_bytes(source.read_bytes())
        owner = data.stat()
        for path in (key, data / "server.certificate", data / "server.authority"):
            os.chown(path, owner.st_uid, owner.st_gid)
            path.chmod(0o600)

    def _command(self) -> Command:
        plain = super()._command()
        data = self.directory / "data"
        settings = {
            "ssl": "on",
            "ssl_cert_file": data / "server.certificate",
            "ssl_key_file": data / "server.key",
            "ssl_ca_file": data / "server.authority",
        }
        more = [each for name, value in settings.items() for each in ("-c", f"{name}={value}")]
        return replace(plain, arguments=[*plain.arguments, *more])

    async def _answers(self) -> bool:
        try:
            connection = await asyncpg.connect(shown_to_postgres(self.url, self.files), timeout=2)
        except (OSError, TimeoutError, asyncpg.PostgresError):
            return False
        await connection.close()
        return True


@contextlib.asynccontextmanager
async def nats(folder: Path, authority: Authority, pair: Pair) -> AsyncIterator[TlsNats]:
    """A NATS server, started."""
    server = TlsNats(folder, clock=SystemClock(), randomness=SystemRandomness())
    server.files = authority.files(pair)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def redis(folder: Path, authority: Authority, pair: Pair) -> AsyncIterator[str]:
    """Where a Redis server is; the one in the wheel has no TLS."""
    server = RedisServer(folder, clock=SystemClock(), randomness=SystemRandomness())
    await server.start()
    try:
        async with terminating(server.port, authority.files(pair)) as port:
            yield _moved(server.url, "rediss", port)
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def postgres(folder: Path, authority: Authority, pair: Pair) -> AsyncIterator[str]:
    """Where a PostgreSQL server is, which speaks TLS itself where it was built with that."""
    speaks = _MARK in (postgres_programs() / "postgres").read_bytes()
    given = {"clock": SystemClock(), "randomness": SystemRandomness(), "durable": False}
    server = (TlsPostgres if speaks else PostgresServer)(folder, **given)  # type: ignore[arg-type]
    if isinstance(server, TlsPostgres):
        server.files = authority.files(pair)
    await server.start()
    try:
        if speaks:
            yield server.url
            return
        async with terminating(server.port, authority.files(pair), postgres=True) as port:
            yield _moved(server.url, "postgresql", port)
    finally:
        await server.stop()


def shown_to_nats(url: str, files: TlsFiles) -> str:
    """The server's URL with what its client needs."""
    names = {"ca": files.authority, "cert": files.certificate, "key": files.key}
    return f"{url.replace('nats://', 'tls://')}?{_query(names)}"


def shown_to_redis(url: str, files: TlsFiles) -> str:
    """Likewise."""
    names = {"ca_certs": files.authority, "certfile": files.certificate, "keyfile": files.key}
    return f"{url}?{_query({f'ssl_{name}': value for name, value in names.items()})}"


def shown_to_postgres(url: str, files: TlsFiles) -> str:
    """Likewise."""
    names = {"rootcert": files.authority, "cert": files.certificate, "key": files.key}
    more = _query({f"ssl{name}": value for name, value in names.items()})
    return f"{url}?sslmode=verify-full&{more}"


def doors(authority: Authority, door: Pair, caller: Pair) -> dict[str, str]:
    """Settings of processes that ask one another for certificates."""
    return {
        "LOCKSTEP_SERVER__TLS_CERTIFICATE_FILE": str(door.certificate),
        "LOCKSTEP_SERVER__TLS_KEY_FILE": str(door.key),
        "LOCKSTEP_SERVER__TLS_CLIENT_CA_FILE": str(authority.file),
        "LOCKSTEP_CLIENT__TLS_CA_FILE": str(authority.file),
        "LOCKSTEP_CLIENT__TLS_CERTIFICATE_FILE": str(caller.certificate),
        "LOCKSTEP_CLIENT__TLS_KEY_FILE": str(caller.key),
    }


@contextlib.asynccontextmanager
async def secured(folder: Path, authority: Authority) -> AsyncIterator[dict[str, str]]:
    """LOCKSTEP_* variables of a suite that speaks over TLS alone, to servers that are there within
    the block: certificates are asked for everywhere."""
    folder.mkdir(parents=True, exist_ok=True)
    servers, door, own = (authority.give(name) for name in ("servers", "door", "process"))
    files = authority.files(own)
    async with (
        nats(folder / "nats", authority, servers) as bus,
        redis(folder / "redis", authority, servers) as leases,
        postgres(folder / "postgres", authority, servers) as store,
    ):
        yield {
            **doors(authority, door, own),
            "LOCKSTEP_BUS__URL": shown_to_nats(bus.url, files),
            "LOCKSTEP_LEADER__URL": shown_to_redis(leases, files),
            "LOCKSTEP_STORE__POSTGRES_DSN": shown_to_postgres(store, files),
        }


def _query(names: dict[str, str]) -> str:
    return urlencode({name: value for name, value in names.items() if value}, safe="/")


def _moved(url: str, scheme: str, port: int) -> str:
    parts = urlsplit(url)
    login = parts.netloc.rpartition("@")[0]
    return parts._replace(scheme=scheme, netloc=f"{login}@127.0.0.1:{port}").geturl()
