"""Which kept states a fold of the past goes on from."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from lockstep.bus import LogName
from lockstep.cli.progress import past_said
from lockstep.clock import VirtualClock
from lockstep.control import PastStatus, past_key
from lockstep.events import Generation, Life
from lockstep.settings import load_settings
from lockstep.store import Deployment, Exclusion, Origin, Past, Revision, revision_id
from lockstep.store.memory import MemoryStore
from lockstep_services.processor.revise.past_progress import PastProgress, fold_of
from lockstep_services.processor.state.envelope import Contents, seal
from tests.unit.services.processor.test_basing import Quiet

NAME = LogName("App", since_ms=7)
LIFE = Life(7, 3)
PAST = Past("App", 7, 4, 0, "archive", LIFE)
WANTED = Deployment("App", "text", "v", LIFE, 1, 1, origin=Origin(past=PAST))


async def _kept(
    store: MemoryStore, position: int, fold: str, life: Life = LIFE, *, version: str = "v",
    verified: bool = True,
) -> str:  # fmt: skip
    status = PastStatus(3, events=position)
    contents = Contents("text", b"s", (), (), progress=msgspec.msgpack.encode((fold, 9, status)))
    payload = seal(contents)
    identity = revision_id("App", Generation(life, 0), position, "u")
    key = past_key(NAME)
    await store.revisions.save(
        Revision(identity, *key, version, position, 1, len(payload), verified, epoch=1), payload
    )
    return identity


def _progress(store: MemoryStore) -> PastProgress:
    site: Any = SimpleNamespace(
        settings=load_settings({}), world=SimpleNamespace(store=store), clock=VirtualClock(),
        log=Quiet(), name=NAME,
    )  # fmt: skip
    revisions: Any = None
    return PastProgress(site, revisions, WANTED, PAST)


@pytest.mark.parametrize(
    "other",
    [
        replace(PAST, app="Other"),
        replace(PAST, since_ms=8),
        replace(PAST, after=5),
        replace(PAST, up_to=50),
        replace(PAST, output="sinks"),
        replace(PAST, life=LIFE.next),
        replace(PAST, revision="one"),
        replace(PAST, quiet_to=9),
    ],
)
def test_another_past_is_another_fold(other: Past) -> None:
    """In whatever it differs."""
    assert fold_of(WANTED, other) != fold_of(WANTED, PAST)


def test_so_is_another_text_and_what_is_left_out() -> None:
    """Else positions would be folded that are set aside."""
    excluded = WANTED.origin.excluding(Exclusion("main", 0, 9, LIFE))
    folds = {
        fold_of(one, PAST)
        for one in (WANTED, replace(WANTED, version="w"), replace(WANTED, origin=excluded))
    }
    assert len(folds) == 3


async def test_the_furthest_of_this_fold_alone() -> None:
    """Not of another one, another version, or unverified; of earlier lives they go."""
    store, fold = MemoryStore(), fold_of(WANTED, PAST)
    await _kept(store, 20, fold)
    await _kept(store, 30, fold)
    await _kept(store, 40, "another")
    await _kept(store, 50, fold, version="w")
    await _kept(store, 60, fold, verified=False)
    earlier = await _kept(store, 70, fold, Life(7, 2))
    later = await _kept(store, 80, fold, LIFE.next)
    found = [one async for one in _progress(store).found()]
    assert [(one.position, one.status.events, one.next_due_ms) for one in found] == [
        (30, 30, 9),
        (20, 20, 9),
    ]
    there = {one.id for one in await store.revisions.list(*past_key(NAME))}
    assert earlier not in there
    assert later in there


async def test_what_the_app_goes_on_with_is_kept_no_longer() -> None:
    """Nor is what is older; of a later fold it stays."""
    store = MemoryStore()
    await _kept(store, 20, "one", Life(7, 2))
    await _kept(store, 30, "two")
    later = await _kept(store, 10, "three", LIFE.next)
    await _progress(store).forget()
    assert [one.id for one in await store.revisions.list(*past_key(NAME))] == [later]


def test_people_are_told_from_where_it_went_on() -> None:
    """And only then."""
    found = msgspec.structs.asdict(PastStatus(1, position=50, up_to=90, events=40, took_ms=1_000))
    assert past_said(found) == "folding: position 50 of 90, 40 events (40 per second), 0 rows"
    said = past_said(found | {"resumed_from": 30, "resumed_events": 25})
    assert said.endswith("; went on from position 30, behind 25 events")
