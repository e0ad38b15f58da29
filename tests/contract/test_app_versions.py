"""Versions of apps: what every store promises of the texts that were deployed."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from lockstep.embedded import EmbeddedServers
from lockstep.events import Life
from lockstep.store import AppVersion, Deploying, Deployment, HowDeployed, Stale, Store, Written
from lockstep.store.filesystem import FileStore
from lockstep.store.memory import MemoryStore
from lockstep.store.postgres import PostgresStore
from tests.contract.patience import PATIENCE_MS

ADAPTERS = ("memory", "files", pytest.param("postgres", marks=pytest.mark.servers))


@pytest.fixture(params=ADAPTERS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path | None:
    """Where the store of each kind is."""
    if request.param == "memory":
        return None
    if request.param == "files":
        return tmp_path
    servers: EmbeddedServers = request.getfixturevalue("servers")
    return servers.postgres_dsn


@pytest.fixture
async def store(address: str | Path | None) -> AsyncIterator[Store]:
    """An open store of each kind."""
    opened: Store = MemoryStore()
    if isinstance(address, Path):
        opened = FileStore(address)
    elif address is not None:
        opened = await PostgresStore.connect(
            address, max_connections=3, statement_timeout_ms=PATIENCE_MS
        )
    yield opened
    await opened.close()


@pytest.fixture
def app(request: pytest.FixtureRequest) -> str:
    """An app name of this test's own."""
    return f"{request.node.name}/{id(request):x}"


def digest(text: str) -> str:
    """As the coordinator makes it."""
    return hashlib.sha256(text.encode()).hexdigest()


def deployment(app: str, generation: int, text: str) -> Deployment:
    """A deployment of one app."""
    life = Life(1_000, generation)
    return Deployment(app, text, digest(text), life, 2, 2_000 + generation)


def asked(who: str = "user ann", keep: int = 50) -> Deploying:
    """Somebody deploys an upgrade."""
    return Deploying(who, HowDeployed.UPGRADE, keep)


async def epoch_of(store: Store) -> int:
    """One that the store takes: tests share a server."""
    found = await store.deployments.put_drained("nobody", drained=False, epoch=0)
    return found.current if isinstance(found, Stale) else 0


async def put(store: Store, texts: list[str], app: str, *, keep: int = 50) -> None:
    """Deploys them one after the other."""
    epoch, before = await epoch_of(store), await store.deployments.get(app)
    first = 1 if before is None else before.life.number + 1
    for generation, text in enumerate(texts, first):
        one = deployment(app, generation, text)
        done = await store.deployments.put(one, epoch=epoch, deploying=asked(keep=keep))
        assert done == Written()


async def numbers(store: Store, app: str) -> list[int]:
    """Which there are, in the store's order."""
    return [one.number for one in await store.versions.list(app)]


async def test_each_deployed_text_is_a_version(store: Store, app: str) -> None:
    """Newest first, with who has asked, how and when; the text comes by its number."""
    await put(store, ["eins", "zw\u00f6lf"], app)
    found = await store.versions.list(app)
    how = HowDeployed.UPGRADE
    assert list(found) == [
        AppVersion(app, 2, digest("zw\u00f6lf"), 6, 2_002, "user ann", how),
        AppVersion(app, 1, digest("eins"), 4, 2_001, "user ann", how),
    ]
    assert await store.versions.text(app, 2) == "zw\u00f6lf"
    assert await store.versions.text(app, 1) == "eins"
    assert await store.versions.text(app, 3) is None
    assert await store.versions.text("another", 1) is None
    assert list(await store.versions.list("another")) == []


async def test_the_same_text_in_a_row_is_one_version(store: Store, app: str) -> None:
    """And a text that was replaced meanwhile is another one."""
    await put(store, ["a", "a", "b", "a"], app)
    found = await store.versions.list(app)
    assert [one.digest for one in found] == [digest("a"), digest("b"), digest("a")]
    assert await numbers(store, app) == [3, 2, 1]


async def test_so_many_are_kept_as_is_said(store: Store, app: str) -> None:
    """The oldest go, and no number is used again."""
    await put(store, ["a", "b", "c", "d", "e"], app, keep=3)
    assert await numbers(store, app) == [5, 4, 3]
    assert await store.versions.text(app, 2) is None
    await put(store, ["f"], app, keep=1)
    assert await numbers(store, app) == [6]


async def test_versions_stay_until_the_app_is_purged(store: Store, app: str) -> None:
    """Be it after the app was undeployed; then numbers begin at 1 again."""
    await put(store, ["a", "b"], app)
    epoch = await epoch_of(store)
    await store.deployments.remove(app, epoch=epoch)
    assert await numbers(store, app) == [2, 1]
    await store.deployments.remove(app, epoch=epoch, purge=True)
    assert await numbers(store, app) == []
    assert await store.versions.text(app, 1) is None
    later = Deployment(app, "c", digest("c"), Life(5_000, 1), 2, 5_000)
    assert await store.deployments.put(later, epoch=epoch, deploying=asked()) == Written()
    assert await numbers(store, app) == [1]


async def test_what_is_refused_leaves_no_version(store: Store, app: str) -> None:
    """Neither an older coordinator, nor a generation that does not follow."""
    await put(store, ["a"], app)
    epoch = await epoch_of(store) + 1
    await store.deployments.put_drained("nobody", drained=False, epoch=epoch)
    second = deployment(app, 2, "b")
    older = await store.deployments.put(second, epoch=epoch - 1, deploying=asked())
    assert older == Stale(epoch)
    skipped = deployment(app, 3, "b")
    assert isinstance(await store.deployments.put(skipped, epoch=epoch, deploying=asked()), Stale)
    assert await numbers(store, app) == [1]
    assert await store.deployments.remove(app, epoch=epoch - 1, purge=True) == Stale(epoch)
    assert await numbers(store, app) == [1]


async def test_a_change_that_deploys_no_text_notes_nothing(store: Store, app: str) -> None:
    """As when an app goes on with a saved state."""
    await put(store, ["a"], app)
    epoch = await epoch_of(store)
    assert await store.deployments.put(deployment(app, 2, "a"), epoch=epoch) == Written()
    assert await numbers(store, app) == [1]


@pytest.mark.parametrize("app", [".", "..", "...", "../x", "%2E"])
async def test_no_name_leads_out_of_its_folder(tmp_path: Path, app: str) -> None:
    """What an app is called can be anything: what is put and purged is its own alone."""
    store = FileStore(tmp_path)
    await store.deployments.put_drained("node", drained=True, epoch=7)
    await put(store, ["other"], "other")
    before = sorted(tmp_path.rglob("*"))
    await put(store, ["a", "b"], app)
    assert await numbers(store, app) == [2, 1]
    assert await store.versions.text(app, 2) == "b"
    added = {path.parent for path in set(tmp_path.rglob("*")) - set(before) if path.is_file()}
    versions = tmp_path / "deployments" / "versions"
    assert {path.parent for path in added} == {tmp_path / "deployments", versions}
    assert await store.deployments.remove(app, epoch=7, purge=True) == Written()
    assert await numbers(store, app) == []
    assert set(before) <= set(tmp_path.rglob("*"))
    assert isinstance(await store.deployments.put_drained("node", drained=False, epoch=3), Stale)
    assert await store.deployments.drained() == ["node"]
    assert await numbers(store, "other") == [1]


async def test_files_of_an_earlier_release_begin_with_what_is_deployed(tmp_path: Path) -> None:
    """The text that the first upgrade replaces is the first version."""
    store = FileStore(tmp_path)
    await store.deployments.put(deployment("Old", 1, "a"), epoch=1)
    assert await numbers(store, "Old") == []
    await put(store, ["b"], "Old")
    second, first = await store.versions.list("Old")
    assert (first.number, first.digest, first.how) == (1, digest("a"), HowDeployed.EARLIER)
    assert (second.number, second.digest) == (2, digest("b"))


@pytest.mark.servers
async def test_tables_of_an_earlier_release_begin_with_what_is_deployed(
    servers: EmbeddedServers,
) -> None:
    """The migration makes the deployed text the first version, also of what is undeployed, but not
    of what was purged."""
    connection = await asyncpg.connect(servers.postgres_dsn)
    try:
        await connection.execute("create database before_versions")
    finally:
        await connection.close()
    dsn = servers.postgres_dsn.rsplit("/", 1)[0] + "/before_versions"
    opened = await PostgresStore.connect(dsn, max_connections=2, statement_timeout_ms=PATIENCE_MS)
    for name, text in (("Runs", "a\u00e4"), ("Rests", "b"), ("Gone", "c")):
        await opened.deployments.put(deployment(name, 1, text), epoch=1)
    await opened.deployments.remove("Rests", epoch=1)
    await opened.deployments.remove("Gone", epoch=1, purge=True)
    await opened.close()
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("drop table lockstep.app_versions")
        await connection.execute(
            "delete from lockstep.migrations where name = '0010_app_versions.sql'"
        )
    finally:
        await connection.close()
    opened = await PostgresStore.connect(dsn, max_connections=2, statement_timeout_ms=PATIENCE_MS)
    earlier = AppVersion("Runs", 1, digest("a\u00e4"), 3, 2_001, "", HowDeployed.EARLIER)
    assert list(await opened.versions.list("Runs")) == [earlier]
    assert await opened.versions.text("Rests", 1) == "b"
    assert await numbers(opened, "Gone") == []
    await opened.close()
