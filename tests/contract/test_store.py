"""What every store promises, on memory, files and a real PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from lockstep.embedded import EmbeddedServers
from lockstep.events import Generation, Life
from lockstep.store import (
    Deployment,
    Exclusion,
    Origin,
    Pause,
    Removed,
    Restoration,
    Revision,
    Stale,
    Store,
    Written,
    cursor_name,
)
from lockstep.store.filesystem import FileStore
from lockstep.store.memory import MemoryStore
from lockstep.store.naming import revision_id
from lockstep.store.postgres import PostgresStore, read_rows
from tests.contract.patience import PATIENCE_MS

ADAPTERS = ("memory", "files", pytest.param("postgres", marks=pytest.mark.servers))


@pytest.fixture(params=ADAPTERS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path | None:
    """Where the store of each kind is; outside of the test's loop, which servers do not share."""
    if request.param == "memory":
        return None
    if request.param == "files":
        return tmp_path
    servers: EmbeddedServers = request.getfixturevalue("servers")
    return servers.postgres_dsn


@pytest.fixture
async def store(address: str | Path | None) -> AsyncIterator[Store]:
    """An open store of each kind."""
    opened: Store
    if address is None:
        opened = MemoryStore()
    elif isinstance(address, Path):
        opened = FileStore(address)
    else:
        opened = await PostgresStore.connect(
            address, max_connections=3, statement_timeout_ms=PATIENCE_MS
        )
    yield opened
    await opened.close()


@pytest.fixture
def app(request: pytest.FixtureRequest) -> str:
    """An app name of this test's own."""
    return f"{request.node.name}-{id(request):x}"


def deployment(app: str, generation: int = 1, text: str = "text") -> Deployment:
    """A deployment of one app."""
    life = Life(1_000, generation)
    restoration = Restoration("r", life) if generation > 1 else None
    origin = Origin(7, 900, restoration)
    if generation > 1:
        origin = origin.excluding(Exclusion("main", 0, 12, life))
    return Deployment(app, text, f"v{generation}", life, 2, 2_000, {"standby": "warm"}, origin)


def emptied(one: Deployment) -> Deployment:
    """What is kept of a purged one."""
    return replace(one, text="", settings={}, origin=Origin())


def named(app: str, position: int) -> str:
    """The id of a revision: it begins with its app."""
    return revision_id(app, Generation(Life(1_000, 1), 0), position, "u")


def revision(app: str, position: int, *, verified: bool = True, epoch: int = 1) -> Revision:
    """A revision at a position."""
    return Revision(
        named(app, position), app, "main", 0, "v1", position, position * 10, 3, verified, epoch
    )


async def _beside(store: Store, address: str | Path | None) -> Store:
    """The same store in another process; of memory there is one alone."""
    if address is None:
        return store
    if isinstance(address, Path):
        return FileStore(address)
    return await PostgresStore.connect(address, max_connections=1, statement_timeout_ms=PATIENCE_MS)


async def test_a_deployment_comes_back_as_it_was_put(store: Store, app: str) -> None:
    """put, get and list agree to the last field."""
    epoch = await _epoch(store, app)
    wanted = deployment(app)
    assert await store.deployments.put(wanted, epoch=epoch) == Written()
    assert await store.deployments.get(app) == wanted
    assert wanted in await store.deployments.list()


async def test_what_others_write_is_seen_at_once(
    store: Store, address: str | Path | None, app: str
) -> None:
    """Lists that were read before do not hide it, whoever has written and whatever it was."""
    epoch, listed = await _epoch(store, app), store.deployments
    other = await _beside(store, address)
    try:
        writing = other.deployments
        assert not [one for one in await listed.list() if one.app == app]
        for generation in (1, 2, 3):
            wanted = deployment(app, generation)
            assert await writing.put(wanted, epoch=epoch) == Written()
            assert [one for one in await listed.list() if one.app == app] == [wanted]
            nodes = (f"n{generation}", "n")
            assert await writing.put_placement(app, nodes, epoch=epoch) == Written()
            assert tuple((await listed.placements())[app]) == nodes
        assert await writing.remove(app, epoch=epoch) == Written()
        assert not [one for one in await listed.list() if one.app == app]
        assert app not in await listed.placements()
        again = replace(deployment(app), life=Life(2_000, 1))
        assert await writing.put(again, epoch=epoch) == Written()
        assert [one for one in await listed.list() if one.app == app] == [again]
    finally:
        if other is not store:
            await other.close()


@pytest.mark.servers
async def test_postgres_gives_the_same_until_something_changes(
    servers: EmbeddedServers, app: str
) -> None:
    """While nothing changes, nothing is read: not even of a thousand apps."""
    store = await PostgresStore.connect(
        servers.postgres_dsn, max_connections=3, statement_timeout_ms=PATIENCE_MS
    )
    try:
        epoch, there = await _epoch(store, app), store.deployments
        await there.put(deployment(app), epoch=epoch)
        await there.put_placement(app, ["n"], epoch=epoch)
        listed, placed = await there.list(), await there.placements()
        assert await there.list() is listed
        assert await there.placements() is placed
        await there.put_placement(app, ["m"], epoch=epoch)
        assert await there.list() is listed
        assert (await there.placements())[app] == ("m",)
    finally:
        await store.close()


async def test_a_generation_cannot_be_skipped_or_written_twice(store: Store, app: str) -> None:
    """The next generation replaces; the same one and the one after next are refused."""
    epoch = await _epoch(store, app)
    assert await store.deployments.put(deployment(app, 1), epoch=epoch) == Written()
    assert isinstance(await store.deployments.put(deployment(app, 1, "b"), epoch=epoch), Stale)
    assert isinstance(await store.deployments.put(deployment(app, 3, "c"), epoch=epoch), Stale)
    assert await store.deployments.put(deployment(app, 2, "d"), epoch=epoch) == Written()
    found = await store.deployments.get(app)
    assert found is not None
    assert found.text == "d"


async def test_an_older_epoch_writes_nothing(store: Store, app: str) -> None:
    """After a newer coordinator has written, the older one's writes are refused."""
    epoch = await _epoch(store, app)
    assert await store.deployments.put(deployment(app), epoch=epoch + 5) == Written()
    assert await store.deployments.put(deployment(app, 2), epoch=epoch) == Stale(epoch + 5)
    assert await store.deployments.put_placement(app, ["n"], epoch=epoch) == Stale(epoch + 5)
    assert await store.deployments.remove(app, epoch=epoch) == Stale(epoch + 5)
    assert await store.deployments.get(app) == deployment(app)


async def test_placements_are_kept_and_go_with_the_app(store: Store, app: str) -> None:
    """The nodes come back in order; removing the app removes them, twice is once."""
    epoch = await _epoch(store, app)
    await store.deployments.put(deployment(app), epoch=epoch)
    assert await store.deployments.put_placement(app, ["b", "a"], epoch=epoch) == Written()
    assert tuple((await store.deployments.placements())[app]) == ("b", "a")
    assert await store.deployments.remove(app, epoch=epoch) == Written()
    assert await store.deployments.remove(app, epoch=epoch) == Written()
    assert app not in await store.deployments.placements()
    assert await store.deployments.get(app) is None


async def test_a_placement_without_nodes_is_none(store: Store, app: str) -> None:
    """Each layout of a fleet has units of its own: nothing is left of those that are over."""
    epoch, there = await _epoch(store, app), store.deployments
    unit = f"{app}\x1fmain~1\x1f0"
    for nodes in (["a"], [], []):
        assert await there.put_placement(unit, nodes, epoch=epoch) == Written()
    assert unit not in await there.placements()
    assert await there.put_placement(unit, ["a"], epoch=epoch + 1) == Written()
    assert await there.put_placement(unit, [], epoch=epoch) == Stale(epoch + 1)
    assert unit in await there.placements()
    await there.put_placement(unit, [], epoch=epoch + 1)


async def test_the_placements_of_all_units_go_with_the_app(store: Store, app: str) -> None:
    """Those of an app whose name begins alike stay."""
    epoch, there = await _epoch(store, app), store.deployments
    mine = [f"{app}\x1f{group}~{n}\x1f{n}" for group in ("by_k", "größe%_") for n in (1, 2)]
    others = [f"{app}2", f"{app}2\x1fby_k~1\x1f0", f"x{app}\x1fby_k~1\x1f0", f"{app}%"]
    await there.put(deployment(app), epoch=epoch)
    for key in (app, *mine, *others):
        await there.put_placement(key, ["a", "b"], epoch=epoch)
    assert await there.remove(app, epoch=epoch) == Written()
    left = await there.placements()
    assert [key for key in (app, *mine) if key in left] == []
    assert [key for key in others if key in left] == others
    for key in others:
        await there.put_placement(key, [], epoch=epoch)


async def test_which_processors_are_drained(store: Store, app: str) -> None:
    """Until it is taken back; twice is once; an older epoch is refused."""
    epoch, node = await _epoch(store, app), f"node-of-{app}"
    for _ in range(2):
        put = await store.deployments.put_drained(node, drained=True, epoch=epoch + 1)
        assert put == Written()
    assert node in await store.deployments.drained()
    stale = await store.deployments.put_drained(node, drained=False, epoch=epoch)
    assert stale == Stale(epoch + 1)
    for _ in range(2):
        await store.deployments.put_drained(node, drained=False, epoch=epoch + 1)
    assert node not in await store.deployments.drained()


async def test_how_much_metrics_tell(store: Store, app: str) -> None:
    """The last that was put, until the app is removed; an older epoch is refused."""
    epoch = await _epoch(store, app)
    assert app not in await store.deployments.levels()
    for level in ("OFF", "DETAIL"):
        put = await store.deployments.put_level(app, level, epoch=epoch + 1)
        assert put == Written()
    assert (await store.deployments.levels())[app] == "DETAIL"
    stale = await store.deployments.put_level(app, "OFF", epoch=epoch)
    assert stale == Stale(epoch + 1)
    assert (await store.deployments.levels())[app] == "DETAIL"
    await store.deployments.remove(app, epoch=epoch + 1)
    assert app not in await store.deployments.levels()


async def test_what_is_paused(store: Store, app: str) -> None:
    """What was put last, until the app is removed; others' stays; an older epoch is refused."""
    epoch = await _epoch(store, app)
    first, second = (
        Pause(app, "sink:Out.0.log", 7, "ann"),
        Pause(app, "source:In.0.nats", 8, "", "no"),
    )
    other = Pause(f"{app}-2", "sink:Out.0.log", 9, "bob")

    async def there() -> list[Pause]:
        return [one for one in await store.deployments.pauses() if one.app.startswith(app)]

    assert await store.deployments.put_pauses(other.app, [other], epoch=epoch + 1) == Written()
    assert await store.deployments.put_pauses(app, [second, first], epoch=epoch + 1) == Written()
    assert await there() == [first, second, other]
    assert await store.deployments.put_pauses(app, [], epoch=epoch) == Stale(epoch + 1)
    assert await store.deployments.put_pauses(app, [second], epoch=epoch + 1) == Written()
    assert await there() == [second, other]
    await store.deployments.remove(app, epoch=epoch + 1)
    assert await there() == [other]
    await store.deployments.put_pauses(other.app, [], epoch=epoch + 1)
    assert await there() == []


async def test_a_deployment_is_refused_beside_one_that_was_not_looked_at(
    store: Store, address: str | Path | None, app: str
) -> None:
    """Of two at a time, each of which has seen neither, one is written. Another text counts as
    unseen, the same text in its next generation does not."""
    epoch, other = await _epoch(store, app), await _beside(store, address)
    pair = [deployment(f"{app}-{n}") for n in (1, 2)]
    stores, seen = (store.deployments, other.deployments), await store.deployments.list()
    puts = (s.put(d, epoch=epoch, beside=seen) for s, d in zip(stores, pair, strict=True))
    outcomes = await asyncio.gather(*puts)
    one, two = sorted(pair, key=lambda each: isinstance(outcomes[pair.index(each)], Stale))
    assert [await store.deployments.get(each.app) for each in (one, two)] == [one, None]
    for version, outcome in (("vb", Stale), ("vb", Written)):
        seen = await store.deployments.list()
        one = replace(one, life=one.life.next, version=version)
        assert await other.deployments.put(one, epoch=epoch, beside=seen) == Written()
        assert isinstance(await store.deployments.put(two, epoch=epoch, beside=seen), outcome)
    if other is not store:
        await other.close()


async def test_an_undeployed_app_is_gone_on_from(store: Store, app: str) -> None:
    """What was deployed last stays; the next generation of it may follow, and then it is deployed;
    another app may, if it is later."""
    epoch = await _epoch(store, app)
    last = deployment(app, 2, "b")
    for one in (deployment(app), last):
        assert await store.deployments.put(one, epoch=epoch) == Written()
    assert await _removed(store, app) is None
    await store.deployments.remove(app, epoch=epoch)
    assert await _removed(store, app) == Removed(last, purged=False)
    assert last not in await store.deployments.list()
    same_time, skipped = deployment(app, 1, "c"), deployment(app, 4, "c")
    another = replace(deployment(app, 3, "c"), life=Life(1_001, 3))
    for refused in (same_time, skipped, another):
        assert isinstance(await store.deployments.put(refused, epoch=epoch), Stale)
    assert await store.deployments.put(deployment(app, 3, "c"), epoch=epoch) == Written()
    assert await store.deployments.get(app) == deployment(app, 3, "c")
    assert await _removed(store, app) is None
    await store.deployments.remove(app, epoch=epoch)
    later = replace(deployment(app, 1, "d"), life=Life(1_001, 1))
    assert await store.deployments.put(later, epoch=epoch) == Written()
    assert (await store.deployments.get(app), await _removed(store, app)) == (later, None)


async def test_nothing_goes_on_from_a_purged_app(store: Store, app: str) -> None:
    """Be it purged with its removal or afterwards; only that it was there, and when, is kept."""
    epoch = await _epoch(store, app)
    await store.deployments.remove(app, epoch=epoch, purge=True)
    assert await _removed(store, app) is None
    first = deployment(app)
    await store.deployments.put(first, epoch=epoch)
    await store.deployments.remove(app, epoch=epoch)
    await store.deployments.remove(app, epoch=epoch, purge=True)
    gone = Removed(emptied(first), purged=True)
    assert await _removed(store, app) == gone
    await store.deployments.remove(app, epoch=epoch)
    assert await _removed(store, app) == gone
    assert isinstance(await store.deployments.put(deployment(app, 2), epoch=epoch), Stale)
    second = replace(first, life=Life(1_001, 1))
    assert await store.deployments.put(second, epoch=epoch) == Written()
    await store.deployments.remove(app, epoch=epoch, purge=True)
    assert await _removed(store, app) == Removed(emptied(second), purged=True)


async def test_revisions_come_newest_first_with_their_state(store: Store, app: str) -> None:
    """Listed by position; the state is byte for byte what was saved."""
    for position in (10, 30, 20):
        saved = await store.revisions.save(revision(app, position), bytes([position]) * 3)
        assert saved == Written()
    listed = await store.revisions.list(app, "main", 0)
    assert [r.position for r in listed] == [30, 20, 10]
    assert await store.revisions.load(listed[1].id) == bytes([20]) * 3
    assert listed[0] == revision(app, 30)
    assert await store.revisions.list(app, "main", 1) == []


async def test_a_revision_of_an_older_epoch_is_refused(store: Store, app: str) -> None:
    """A replaced leader cannot leave a state behind its successor's."""
    assert await store.revisions.save(revision(app, 10, epoch=4), b"new") == Written()
    assert await store.revisions.save(revision(app, 20, epoch=3), b"old") == Stale(4)
    assert [r.position for r in await store.revisions.list(app, "main", 0)] == [10]


async def test_purging_keeps_verified_ones_and_what_may_become_one(store: Store, app: str) -> None:
    """Two verified stay; unverified ones go only when they are older than a verified one."""
    for position, verified in ((1, True), (2, True), (3, False), (4, True), (5, False)):
        await store.revisions.save(revision(app, position, verified=verified), b"abc")
    assert await store.revisions.purge(app, "main", 0, keep=2) == 2
    assert [r.position for r in await store.revisions.list(app, "main", 0)] == [5, 4, 2]
    with pytest.raises(LookupError):
        await store.revisions.load(named(app, 1))


async def test_a_revision_counts_once_it_is_verified(store: Store, app: str) -> None:
    """mark_verified changes that and nothing else."""
    await store.revisions.save(revision(app, 7, verified=False), b"abc")
    await store.revisions.mark_verified(named(app, 7))
    assert await store.revisions.list(app, "main", 0) == [revision(app, 7)]
    assert await store.revisions.load(named(app, 7)) == b"abc"


async def test_revisions_are_deleted_by_name(store: Store, app: str) -> None:
    """With their states; what is not there is not counted."""
    for position in (1, 2, 3):
        await store.revisions.save(revision(app, position), b"abc")
    assert await store.revisions.delete([named(app, n) for n in (1, 3, 9)]) == 2
    assert [r.position for r in await store.revisions.list(app, "main", 0)] == [2]
    with pytest.raises(LookupError):
        await store.revisions.load(named(app, 3))
    assert await store.revisions.delete([]) == 0


async def test_revisions_are_found_by_the_log_they_belong_to(store: Store, app: str) -> None:
    """An app's groups are listed without another app's; an epoch in one does not refuse another."""
    later = replace(revision(app, 1), id=f"{named(app, 1)}-later", group="main@17")
    assert await store.revisions.save(revision(app, 1, epoch=9), b"abc") == Written()
    assert await store.revisions.save(later, b"abc") == Written()
    await store.revisions.save(revision(f"{app}-other", 1), b"abc")
    own = [(app, "main", 0), (app, "main@17", 0)]
    assert list(await store.revisions.logs(app)) == own
    there = list(await store.revisions.logs(None))
    assert [key for key in there if key[0].startswith(app)] == [*own, (f"{app}-other", "main", 0)]
    assert there == sorted(there)
    assert await store.revisions.list(app, "main@17", 0) == [later]
    assert list(await store.revisions.logs(f"{app}-none")) == []


async def test_a_cursor_never_moves_back(store: Store, app: str) -> None:
    """It starts at 0 and keeps the highest sequence."""
    assert await store.cursors.get(app) == 0
    for sequence in (5, 3, 9, 8):
        await store.cursors.put(app, sequence)
    assert await store.cursors.get(app) == 9


async def test_cursors_are_named_by_app_and_forgotten_by_name(store: Store, app: str) -> None:
    """Those of an app whose name begins alike are not listed, whatever is in the names; a forgotten
    cursor begins at 0 again."""
    other = (f"{app}-other/S.0.http", f"{app}.b/S.0.http", f"{app}_/S", f"x{app}/S")
    own = (f"{app}/S.0.http", f"{app}/S.0.http/turn", cursor_name(app, "ä_%.1.file", 12))
    for sink in (*other, *own):
        await store.cursors.put(sink, 7)
    assert sorted(await store.cursors.names(app)) == sorted(own)
    assert {*own, *other} <= set(await store.cursors.names(None))
    assert await store.cursors.delete([own[0], own[2], f"{app}/none"]) == 2
    assert [await store.cursors.get(sink) for sink in (*own, *other)] == [0, 7, 0, 7, 7, 7, 7]
    assert await store.cursors.delete([]) == 0
    await store.cursors.put(own[0], 2)
    assert await store.cursors.get(own[0]) == 2


async def test_a_note_stands_beside_a_cursor(store: Store, app: str) -> None:
    """The last one counts; it has the cursor's name, and goes with it."""
    name = cursor_name(app, "S.0.note", 12)
    assert await store.cursors.note(name) == ""
    for text in ("b", "", "a \x7f ü%"):
        await store.cursors.put_note(name, text)
        assert await store.cursors.note(name) == text
    assert list(await store.cursors.names(app)) == [name]
    await store.cursors.put(name, 3)
    await store.cursors.put_note(name, "c")
    assert (await store.cursors.get(name), await store.cursors.note(name)) == (3, "c")
    assert await store.cursors.delete([name]) == 1
    assert (await store.cursors.get(name), await store.cursors.note(name)) == (0, "")
    assert list(await store.cursors.names(app)) == []


async def test_a_damaged_file_is_noticed(tmp_path: Path) -> None:
    """A state whose bytes changed on disk is not handed out."""
    store = FileStore(tmp_path)
    await store.revisions.save(replace(revision("a", 1)), b"precious")
    (state,) = (tmp_path / "revisions").glob("*.state")
    state.write_bytes(state.read_bytes()[:-1] + b"X")
    with pytest.raises(Exception, match="checksum"):
        await store.revisions.load(named("a", 1))


@pytest.mark.servers
async def test_reading_a_table_that_is_not_there_gives_nothing(servers: EmbeddedServers) -> None:
    """read_rows asks politely."""
    assert await read_rows(servers.postgres_dsn, 'no "such" table', ["a"]) == []


async def _removed(store: Store, app: str) -> Removed | None:
    found = await store.deployments.removed()
    return next((one for one in found if one.deployment.app == app), None)


async def _epoch(store: Store, app: str) -> int:
    """An epoch that is not stale in a store that other tests have written to."""
    outcome = await store.deployments.put_placement(app, [], epoch=0)
    return outcome.current if isinstance(outcome, Stale) else 0
