"""What every store promises of accounts and of the log of who did what, on memory, files and a real
PostgreSQL."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from lockstep.rights.accounts import Account, User, directory, stored
from lockstep.rights.audit import AuditEntry
from lockstep.store import BatchEntry, Store
from tests.contract.test_store import address, app, store

__all__ = ["address", "app", "store"]


async def test_accounts_change_as_a_whole_or_not_at_all(store: Store) -> None:
    """Whoever read an earlier revision has to look again; a change of several is one."""
    before, _ = await store.accounts.read()
    assert await store.accounts.revision() == before
    ann, bob = Account("user", f"ann-{before}", "{}"), Account("user", f"bob-{before}", "{}")
    assert await store.accounts.change([ann, bob], [], expected=before)
    assert not await store.accounts.change([], [("user", ann.name)], expected=before)
    revision, found = await store.accounts.read()
    assert revision == before + 1 == await store.accounts.revision()
    assert {ann, bob} <= set(found)
    changed = Account("user", bob.name, '{"n": 1}')
    removing = [("user", ann.name), ("group", "never")]
    assert await store.accounts.change([changed], removing, expected=revision)
    _, found = await store.accounts.read()
    assert changed in found
    assert not {ann, bob} & set(found)


async def test_accounts_that_an_earlier_release_stored_are_read_and_written_back(
    store: Store,
) -> None:
    """Before identity providers kept users none was ever deactivated."""
    revision = await store.accounts.revision()
    name = f"old-{revision}"
    old = Account("user", name, f'{{"name":"{name}","created_ms":1,"password":"x","groups":["g"]}}')
    assert await store.accounts.change([old], [], expected=revision)
    revision, found = await store.accounts.read()
    known = directory(revision, [one for one in found if one.name == name]).users[name]
    assert known == User(name, 1, "x", groups=frozenset({"g"}), id=name)
    assert known.active
    out = replace(known, active=False, id="1", external_id="e", display_name="Old")
    assert await store.accounts.change([stored(out)], [], expected=revision)
    revision, found = await store.accounts.read()
    assert directory(revision, [one for one in found if one.name == name]).users[name] == out


async def test_of_writers_at_the_same_time_one_wins(store: Store) -> None:
    """The others are told."""
    before = await store.accounts.revision()
    done = await asyncio.gather(
        *(
            store.accounts.change([Account("group", f"g{n}", "{}")], [], expected=before)
            for n in range(3)
        )
    )
    assert sorted(done) == [False, False, True]
    assert await store.accounts.revision() == before + 1


def entry(at_ms: int, who: str, app: str = "") -> AuditEntry:
    """Somebody did something."""
    return AuditEntry(at_ms, who, "10.0.0.1", "", "POST", "/v1/x", "/v1/x", app, 200, "n1")


async def test_the_audit_log_is_added_to_read_backwards_and_trimmed_by_time(
    store: Store, app: str
) -> None:
    """Of an app, of somebody, before an entry; a line that was cut short hides no other one."""
    now_ms = 1_795_000_000_000
    await store.audit.append([entry(now_ms, "user ann", app), entry(now_ms + 1, "user bob", app)])
    await store.audit.append([entry(now_ms + 2, "user ann", app), entry(5, "user old", app)])
    found = await store.audit.read(before=None, limit=10, app=app)
    assert sorted(one.at_ms for one in found) == [5, now_ms, now_ms + 1, now_ms + 2]
    ids = [one.id for one in found]
    assert ids == sorted(set(ids), reverse=True)
    assert all(replace(one, id=0) == entry(one.at_ms, one.who, app) for one in found)
    anns = await store.audit.read(before=None, limit=1, app=app, who="user ann")
    assert [one.at_ms for one in anns] == [now_ms + 2]
    older = await store.audit.read(before=anns[0].id, limit=10, app=app, who="user ann")
    assert [one.at_ms for one in older] == [now_ms]
    assert await store.audit.trim(now_ms - 86_400_000) >= 1
    left = await store.audit.read(before=None, limit=10, app=app)
    assert sorted(one.at_ms for one in left) == [now_ms, now_ms + 1, now_ms + 2]


async def test_an_entry_of_a_script_is_written_by_who_has_seen_it_as_it_is(
    store: Store, app: str
) -> None:
    """Of two who put the same number or change the same revision, one is told so."""
    one = BatchEntry("run", app, 60_000, '{"state": "due"}', is_open=True)
    assert sorted(await asyncio.gather(*(store.batch.put(one) for _ in range(3)))) == [
        False, False, True,
    ]  # fmt: skip
    there = await store.batch.get("run", app, 60_000)
    assert there == replace(one, revision=1)
    done = replace(there, text="{}", is_open=False)
    assert sorted(await asyncio.gather(*(store.batch.put(done) for _ in range(3)))) == [
        False, False, True,
    ]  # fmt: skip
    assert not await store.batch.put(replace(done, revision=5))
    assert not await store.batch.put(replace(one, key=1, revision=1))
    assert await store.batch.get("run", app, 60_000) == replace(done, revision=2)


async def test_entries_of_scripts_are_read_by_kind_and_script_and_by_what_is_left_to_do(
    store: Store, app: str
) -> None:
    """The greatest numbers first; what is deleted is gone, nothing else."""
    for key in (1, 2, 3):
        assert await store.batch.put(BatchEntry("run", app, key, "{}", is_open=key != 2))
    assert await store.batch.put(BatchEntry("run", f"{app}/ü", 9, "{}", is_open=True))
    assert await store.batch.put(BatchEntry("version", app, 7, "{}"))
    assert [one.key for one in await store.batch.read("run", app)] == [3, 2, 1]
    assert [one.key for one in await store.batch.read("run", app, limit=2)] == [3, 2]
    assert [one.key for one in await store.batch.read("run", app, open_only=True)] == [3, 1]
    everybodys = await store.batch.read("run", open_only=True)
    assert {(app, 3), (app, 1), (f"{app}/ü", 9)} <= {(one.script, one.key) for one in everybodys}
    assert await store.batch.delete("run", app, [1, 5]) == 1
    assert await store.batch.get("run", app, 1) is None
    assert await store.batch.delete("run", app) == 2
    assert await store.batch.read("run", app) == []
    assert [one.key for one in await store.batch.read("version", app)] == [7]
    assert await store.batch.delete("run", app) == 0
