"""Which ends of layouts there are, and what they are as one revision."""

from __future__ import annotations

from lockstep.bus import LogName
from lockstep.control.endings import end_key, ending_id, endings_of
from lockstep.control.units import group_in
from lockstep.events import Generation, Life
from lockstep.store import Revision, revision_id
from lockstep.store.memory import MemoryStore

SINCE_MS = 5


async def stored(
    store: MemoryStore, name: LogName, position: int, *, verified: bool = True, is_end: bool = True
) -> None:
    """A revision of a unit."""
    app, group, partition = end_key(name) if is_end else name.key
    made = Revision(
        id=revision_id(app, Generation(Life(1, 1), 0), position, f"{group}{partition}"),
        app=app, group=group, partition=partition, version="v", position=position,
        created_ms=position, size_bytes=3, verified=False, epoch=1,
    )  # fmt: skip
    await store.revisions.save(made, b"abc")
    if verified:
        await store.revisions.mark_verified(made.id)


def unit(group: str, partition: int, layout: int, since_ms: int = SINCE_MS) -> LogName:
    """Its output log."""
    return LogName("A", group_in(layout, group), partition, since_ms=since_ms)


async def test_the_ends_of_layouts_are_found_by_their_revisions() -> None:
    """Those of logs that were purged, recovery's own and unverified ones are none."""
    store = MemoryStore()
    await stored(store, LogName("A", since_ms=SINCE_MS), 7)
    for partition in range(2):
        await stored(store, unit("one", partition, 3), 20)
        await stored(store, unit("one", partition, 4), 30, verified=False)
        await stored(store, unit("one", partition, 2), 9, is_end=False)
    await stored(store, unit("two", 0, 3), 20)
    await stored(store, unit("one", 0, 2, since_ms=1), 9)
    found = await endings_of(store.revisions, LogName("A", since_ms=SINCE_MS))
    assert [(one.layout, len(one.states)) for one in found] == [(3, 3), (0, 1)]
    assert sorted(group for group, _ in found[0].states) == ["one", "one", "two"]
    whole = found[0].revision
    assert (whole.id, whole.position, whole.size_bytes) == (ending_id(3), 20, 9)
