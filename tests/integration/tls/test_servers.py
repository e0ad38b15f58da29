"""Bus, leases and store over TLS, on real servers that ask for certificates."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lockstep.bus.nats import NatsBus
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.events import LockstepError, UnavailableError
from lockstep.leader import Lease
from lockstep.leader.redis import RedisLeases
from lockstep.store.postgres import PostgresStore
from lockstep.tls import TlsFiles
from tests.contract.bus.carriers import fresh_log, one_event, with_limits
from tests.contract.patience import PATIENCE_MS, eventually, read_on
from tests.tls import servers
from tests.tls.certificates import Authority, Pair
from tests.tls.servers import TlsNats, shown_to_nats, shown_to_postgres, shown_to_redis

CLOCK, RANDOM = SystemClock(), SystemRandomness()
SOON = with_limits(connect_timeout_ms=5_000)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Of the servers and of their clients."""
    return Authority(tmp_path / "certificates")


@pytest.fixture
def pair(authority: Authority) -> Pair:
    """What the servers show."""
    return authority.give("servers")


@pytest.fixture
async def nats(tmp_path: Path, authority: Authority, pair: Pair) -> AsyncIterator[TlsNats]:
    """A NATS server."""
    async with servers.nats(tmp_path / "nats", authority, pair) as server:
        yield server


def files_of_client(authority: Authority) -> dict[str, TlsFiles]:
    """Of one that is let in, and of those that are not."""
    other = Authority(authority.folder / "other", "other")
    stranger = other.give("stranger")
    return {
        "own": authority.files(authority.give("client")),
        "none": authority.files(),
        "stranger": TlsFiles(str(authority.file), str(stranger.certificate), str(stranger.key)),
        "mistrusting": other.files(authority.give("client")),
    }


async def bus_at(url: str) -> NatsBus:
    """Connected. UnavailableError, BusRefusedError."""
    return await NatsBus.connect(url, SOON, RANDOM)


async def carries(bus: NatsBus) -> None:
    """A record goes in and comes out again."""
    log = await bus.input_log(fresh_log())
    await log.append(one_event(1), dedup_id="a")
    assert [entry.record for entry in await read_on(log.read, 0, 1)] == [one_event(1)]


async def test_nats_lets_in_who_shows_a_certificate(nats: TlsNats, authority: Authority) -> None:
    """And nobody else; nor is a server spoken to that another authority stands for."""
    files = files_of_client(authority)
    bus = await bus_at(shown_to_nats(nats.url, files.pop("own")))
    try:
        await carries(bus)
    finally:
        await bus.close()
    for one in files.values():
        with pytest.raises(LockstepError):
            await bus_at(shown_to_nats(nats.url, one))


async def test_nats_is_shown_the_new_certificate_after_a_restart(
    nats: TlsNats, authority: Authority, pair: Pair
) -> None:
    """Server and client have other ones by then, of another authority; the bus comes back."""
    own = authority.give("client")
    bus = await bus_at(shown_to_nats(nats.url, authority.files(own)))
    try:
        await carries(bus)
        other = Authority(authority.folder / "other", "other")
        authority.file.write_bytes(other.file.read_bytes())
        for name, old in (("servers", pair), ("client", own)):
            new = other.give(name)
            old.key.write_bytes(new.key.read_bytes())
            old.certificate.write_bytes(new.certificate.read_bytes())
        await nats.restart()
        await eventually(bus.healthy)
        await carries(bus)
    finally:
        await bus.close()


async def test_a_plain_nats_server_is_not_told_the_password(tmp_path: Path) -> None:
    """Where TLS was asked for: somebody in between could say that there is none."""
    server = NatsServer(tmp_path / "nats", clock=CLOCK, randomness=RANDOM)
    await server.start()
    try:
        bus = await bus_at(server.url)
        await bus.close()
        with pytest.raises(UnavailableError, match="speaks no TLS"):
            await bus_at(server.url.replace("nats://", "tls://"))
    finally:
        await server.stop()


async def test_leases_are_kept_over_tls(tmp_path: Path, authority: Authority, pair: Pair) -> None:
    """By whoever shows a certificate; a new one is shown on the next connection."""
    files = files_of_client(authority)
    own = files.pop("own")
    async with servers.redis(tmp_path / "redis", authority, pair) as url:
        leases = leases_at(shown_to_redis(url, own))
        lease = await leases.acquire("r", "a", ttl_ms=PATIENCE_MS)
        assert isinstance(lease, Lease)
        Path(own.certificate).write_text("spoilt")
        assert await leases.renew(lease)  # the connection is open
        await leases._redis.connection_pool.disconnect()
        with pytest.raises(UnavailableError, match="cannot be used") as found:
            await leases.renew(lease)
        assert own.certificate in str(found.value)
        authority.give("client")
        assert await leases.renew(lease)
        await leases.close()
        for name, one in files.items():
            others = leases_at(shown_to_redis(url, one))
            assert not await others.healthy(), name
            await others.close()


def leases_at(url: str) -> RedisLeases:
    """Patient ones."""
    return RedisLeases(url, CLOCK, RANDOM, timeout_ms=PATIENCE_MS)


async def test_the_store_is_reached_over_tls(
    tmp_path: Path, authority: Authority, pair: Pair
) -> None:
    """By whoever shows a certificate; new connections read the files again."""
    files = files_of_client(authority)
    own = files.pop("own")
    async with servers.postgres(tmp_path / "postgres", authority, pair) as url:
        store = await store_at(shown_to_postgres(url, own))
        try:
            assert await store.healthy()
            authority.give("client")
            await store._pool.expire_connections()
            assert await store.healthy()
            for name in (own.authority, own.certificate, own.key):
                await told_of_its_file(store, Path(name))
        finally:
            await store.close()
        for one in files.values():
            with pytest.raises(LockstepError):
                await store_at(shown_to_postgres(url, one))


async def told_of_its_file(store: PostgresStore, file: Path) -> None:
    """By the store's error while it is half written, and while it is gone; whole again, it is
    taken."""
    whole = file.read_bytes()
    for spoil in (lambda: file.write_text("-----BEGIN"), file.unlink):
        spoil()
        await store._pool.expire_connections()
        with pytest.raises(UnavailableError, match="cannot be used") as found:
            await store.deployments.list()
        assert str(file) in str(found.value)
        file.write_bytes(whole)
    assert await store.healthy()


async def store_at(dsn: str) -> PostgresStore:
    """Connected. Errors: LockstepError."""
    return await PostgresStore.connect(dsn, max_connections=2, statement_timeout_ms=PATIENCE_MS)
