"""A replica that stops in front of what another one has published leads no more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.clock import VirtualClock
from lockstep.events import Generation, Life, OutputId
from lockstep.settings import load_settings
from lockstep.store import Revision, revision_id
from lockstep.telemetry import get_logger
from lockstep_services.processor.fold.blocked import TRY_AGAIN_MS, Blocked
from lockstep_services.processor.lead.fitness import Fitness
from lockstep_services.processor.replica.leading import Reach
from lockstep_services.processor.replica.standby import ACTIVE, HOT, Progress, is_ready
from lockstep_services.processor.replica.standing import RestartReplicaError

UNFOLDABLE = 42
STATE = Generation(Life(1, 1), 0)


def _revision(position: int) -> Revision:
    id_ = revision_id("App", STATE, position, "u")
    return Revision(id_, "App", "main", 0, "v", position, 1, 1, verified=True, epoch=1)


class Place:
    """A replica whose worker dies of a position; `published`: by somebody else."""

    def __init__(self, published: int, unfoldable: int | None = UNFOLDABLE) -> None:
        self.settings, self.clock = load_settings({}), VirtualClock()
        self.is_deaf = False
        self.others: list[tuple[Any, Any]] = []
        self.revisions: list[Any] = []
        engine = SimpleNamespace(unfoldable=unfoldable, position=UNFOLDABLE - 1, outbox=())
        wanted = SimpleNamespace(settings=self.settings.processor, standby=HOT)
        self.running: Any = SimpleNamespace(engine=engine, wanted=wanted, generation=STATE)
        store = SimpleNamespace(revisions=SimpleNamespace(list=self._revisions))
        self.site: Any = SimpleNamespace(
            settings=self.settings, clock=self.clock, log=get_logger(),
            name=SimpleNamespace(key=("A", "main", 0)), world=SimpleNamespace(store=store),
            hearing=SimpleNamespace(is_deaf=lambda patience_ms: self.is_deaf, silent_ms=9),
            others=lambda: self.others,
        )  # fmt: skip
        last = SimpleNamespace(last_id=OutputId(published, 0))
        parts: Any = (self.site, self.running, None, last, 0, UNFOLDABLE)
        self.reach = Reach(*parts)

    async def _revisions(self, *_: object) -> list[Any]:
        return self.revisions

    def fitness(self) -> Fitness:
        """Its own."""
        replica: Any = SimpleNamespace(
            site=self.site, running=self.running, reach=self.reach,
            trouble=SimpleNamespace(text=None),
        )  # fmt: skip
        return Fitness(replica)

    def blocked(self) -> Blocked:
        """What it waits for."""
        return Blocked(self.site, self.running, self.reach)


def test_who_stops_in_front_of_what_is_published_is_not_fit_to_lead() -> None:
    """It has a state near the log's end, and yet it could publish nothing."""
    fitness = Place(published=UNFOLDABLE).fitness()
    assert not fitness.is_fit
    assert "published position 42" in fitness.why_not()


def test_who_has_come_furthest_leads_though_it_stops() -> None:
    """What it stops in front of is set aside for all once it leads."""
    place = Place(published=UNFOLDABLE - 1)
    assert place.fitness().is_fit
    assert place.reach.is_ready


def test_who_is_only_behind_what_is_published_may_lead() -> None:
    """It folds as far as that."""
    assert Place(published=UNFOLDABLE + 3, unfoldable=None).fitness().is_fit


def test_who_does_not_hear_the_bus_is_not_fit_to_lead() -> None:
    """However far it has come."""
    place = Place(published=0)
    place.is_deaf = True
    assert place.fitness().why_not() == "cut off for too long"
    assert not place.fitness().is_fit


@pytest.mark.parametrize("standby", ["hot", "warm"])
def test_nobody_leaves_the_lead_to_who_is_outdone(standby: str) -> None:
    """It is not ready, however near the log's end it is."""
    settings = load_settings({}).processor
    assert not Place(published=UNFOLDABLE).reach.is_ready
    assert is_ready(standby, Progress(41, 42, 0), settings)
    assert not is_ready(standby, Progress(41, 42, 0, is_outdone=True), settings)


async def test_who_is_outdone_goes_on_behind_a_revision_of_another_one() -> None:
    """As soon as that has folded the position."""
    place = Place(published=UNFOLDABLE)
    place.revisions = [_revision(UNFOLDABLE - 1)]
    await place.blocked().look()
    place.revisions += [_revision(UNFOLDABLE)]
    with pytest.raises(RestartReplicaError, match="another replica has folded position 42"):
        await place.blocked().look()


async def test_who_is_outdone_tries_again_when_nobody_leads_for_long() -> None:
    """It may have the memory by now; while somebody leads it waits for a revision."""
    place = Place(published=UNFOLDABLE)
    place.others = [(None, SimpleNamespace(role=ACTIVE))]
    blocked = place.blocked()
    for _ in range(3):
        await blocked.look()
        await place.clock.advance_ms(TRY_AGAIN_MS)
    place.others = []
    blocked = place.blocked()
    await blocked.look()
    await place.clock.advance_ms(TRY_AGAIN_MS - 1)
    await blocked.look()
    await place.clock.advance_ms(1)
    with pytest.raises(RestartReplicaError, match="nobody leads"):
        await blocked.look()


async def test_who_is_not_outdone_does_not_try_again() -> None:
    """It leads, sooner or later, and the position is set aside."""
    place = Place(published=UNFOLDABLE - 1)
    blocked = place.blocked()
    for _ in range(3):
        await blocked.look()
        await place.clock.advance_ms(TRY_AGAIN_MS)
