"""Which state an app had at a time (`restore --to`): where it stood, from which revision or archive
that is folded, and why it cannot be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from lockstep.archive.naming import Logs
from lockstep.archive.place import Place
from lockstep.archive.reading import Span
from lockstep.bus import Bus, InputLog, LogName
from lockstep.control import log_of
from lockstep.events import Generation, Life, Position
from lockstep.frame import Offload, Problem
from lockstep.history.going_back import (
    Archived,
    archived_at,
    check_archived,
    clock_of,
    first_later,
)
from lockstep.plan import AppPlan, Plans
from lockstep.store import (
    NEVER,
    PAST_NOWHERE,
    Before,
    Deployment,
    Past,
    Revision,
    Revisions,
)

READ_RECORDS: Final = 4_096
READ_BYTES: Final = 16_777_216
READ_WAIT_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class BackWish:
    """To which time of the app's clock. `replay`: then on to the present; then `output` says where
    the rows go that this gives for the time since then."""

    to_ms: int
    replay: bool
    output: str


@dataclass(frozen=True, slots=True)
class FoundBack:
    """What was found for a wish: the position at which the app stood, the revision to begin with
    (empty: none), since when it is folded without one (epoch milliseconds; None: there is one), and
    the past that is folded; None where the revision is of that very position."""

    position: Position
    revision: str
    begins_ms: int | None
    past: Past | None


@dataclass(frozen=True, slots=True)
class _There:
    """Where an app stood, what its log still holds, and what its archive says."""

    position: Position
    first: Position
    last: Position
    archived: Archived | None


class GoingBack:
    """Of all apps. `place`: None where nothing is archived."""

    def __init__(
        self, place: Place | None, offload: Offload, bus: Bus, revisions: Revisions, plans: Plans
    ) -> None:
        self._place = place
        self._offload = offload
        self._bus = bus
        self._revisions = revisions
        self._plans = plans

    async def found(self, one: Deployment, wish: BackWish) -> FoundBack:
        """For an app as it is deployed. Its `Past` is of the deployment's next life. Problem 404,
        409, HistoryError, SiddhiQLError, UnavailableError."""
        if one.layout:
            raise Problem(
                HTTPStatus.CONFLICT,
                f"'{one.app}' is cut into several units, which do not go back to a time",
                hint="they go back together to where a layout has ended: `lockstep revisions` has "
                "it as layout.<n>, and `lockstep snapshot` makes one",
            )
        plan = await self._offload.run(lambda: self._plans.of(one.text))
        name = log_of(one)
        log = await self._bus.input_log(name, make=False)
        there = await self._there(log, plan, name, wish.to_ms)
        tail = await (await self._bus.output_log(name, make=False)).tail()
        revisions = await self._revisions.list(*name.key)
        own = [each for each in revisions if _is_of(each, one)]
        chosen = state_at(own, tail.generation, there.position,
                          None if plan.checked.is_playback else wish.to_ms)  # fmt: skip
        begins_ms: int | None = None
        after, revision = 0, ""
        if chosen is not None:
            self._check(one, chosen, there, tail.generation, wish)
            after, revision = chosen.position, chosen.id
        else:
            after, begins_ms = await self._from_archive(one, log, plan, own, there)
        await self._check_readable(plan, name, there, Span(after, there.position))
        if chosen is not None and after == there.position and not wish.replay:
            return FoundBack(there.position, revision, None, None)
        was = Before(one.text, one.settings, one.replicas)
        past = Past(
            one.app, name.since_ms, after,
            up_to=0 if wish.replay else there.position,
            output=wish.output if wish.replay else PAST_NOWHERE,
            life=one.life.next, revision=revision, before=was, quiet_to=there.position,
        )  # fmt: skip
        return FoundBack(there.position, revision, begins_ms, past)

    async def _there(self, log: InputLog, plan: AppPlan, name: LogName, to_ms: int) -> _There:
        is_playback = plan.checked.is_playback
        first, last = await log.bounds()
        archived: Archived | None = None
        if (place := self._place) is not None:
            logs = Logs(name.app, name.since_ms)
            archived = await self._offload.run(
                lambda: archived_at(place, logs, to_ms, is_playback=is_playback)
            )
        later = await self._later(log, first, last, to_ms, is_playback=is_playback)
        if later == first and archived is not None and archived.later is not None:
            later = min(later, archived.later)  # the log has forgotten what was earlier
        return _There(last if later is None else later - 1, first, last, archived)

    async def _later(
        self, log: InputLog, first: Position, last: Position, to_ms: int, *, is_playback: bool
    ) -> Position | None:
        """The first record that the log holds from behind a time."""
        position = first - 1
        while position < last:
            entries = await log.read_encoded(
                position, max_records=READ_RECORDS, max_bytes=READ_BYTES, wait_ms=READ_WAIT_MS
            )
            if not entries:
                break
            found = await self._offload.run(
                lambda read=entries: first_later(read, to_ms, is_playback=is_playback)  # type: ignore[misc]
            )
            if found is not None:
                return found
            position = entries[-1].position
        return None

    def _check(
        self,
        one: Deployment,
        chosen: Revision,
        there: _There,
        begun: Generation | None,
        wish: BackWish,
    ) -> None:
        if chosen.version != one.version:
            raise Problem(
                HTTPStatus.CONFLICT,
                f"at that time '{one.app}' was of version {chosen.version[:12]}, deployed is "
                f"{one.version[:12]}",
                hint="deploy the text of that version first",
            )
        is_of_today = begun is None or chosen.life == begun.life
        if is_of_today and there.position >= there.last and not wish.replay:
            raise Problem(
                HTTPStatus.CONFLICT,
                f"nothing has come in behind that time: '{one.app}' has the state of then",
                hint="`lockstep restore` without --to goes back to a saved state",
            )

    async def _from_archive(
        self,
        one: Deployment,
        log: InputLog,
        plan: AppPlan,
        own: Sequence[Revision],
        there: _There,
    ) -> tuple[Position, int]:
        """Behind which position the archive's fold begins, and when that is."""
        archived = there.archived
        if archived is not None:
            after = max(archived.span.after, one.origin.position)
            if after < there.position:
                return after, archived.begins_ms
        oldest = min((each.position for each in own if each.verified), default=None)
        when = "" if archived is None else _shown(archived.begins_ms)
        if not when and oldest is not None:
            when = await self._time_of(log, plan, oldest)
        raise Problem(
            HTTPStatus.NOT_FOUND,
            f"no state of '{one.app}' from before that time is kept"
            + (f"; the oldest is of {when}" if when else ""),
            hint="@app:archive keeps what comes in, so that each time from then on can be gone "
            "back to; processor.revisions_to_keep says how many states are kept",
        )

    async def _time_of(self, log: InputLog, plan: AppPlan, position: Position) -> str:
        """Of what stands there, or behind it, for people; empty where nothing does."""
        entries = await log.read_encoded(
            max(0, position - 1), max_records=1, max_bytes=READ_BYTES, wait_ms=READ_WAIT_MS
        )
        is_playback = plan.checked.is_playback
        return _shown(clock_of(entries[0], is_playback=is_playback)) if entries else ""

    async def _check_readable(
        self, plan: AppPlan, name: LogName, there: _There, span: Span
    ) -> None:
        """What the log has forgotten of a span has to be in the archive, in the shape of today."""
        end = min(span.up_to, there.first - 1)
        if end <= span.after:
            return
        place, archived = self._place, there.archived
        if place is None or archived is None or archived.span.up_to < end:
            raise Problem(
                HTTPStatus.NOT_FOUND,
                f"the log of '{name.app}' has forgotten what stands behind position {span.after}",
                hint="@app:archive keeps what comes in from now on",
            )
        logs = Logs(name.app, name.since_ms)
        await self._offload.run(lambda: check_archived(plan, place, logs, Span(span.after, end)))


def _is_of(revision: Revision, one: Deployment) -> bool:
    """Not of another app that had the name before."""
    return revision.life == NEVER or revision.life.deployed_ms == one.life.deployed_ms


def state_at(
    revisions: Sequence[Revision], begun: Generation | None, position: Position, to_ms: int | None
) -> Revision | None:
    """The newest verified one up to a position, of the life that the app was in there. `begun`: the
    life that its output log bears, which holds from its beginning on. `to_ms`: a life that began at
    this very position counts if it had begun by then; None: nobody can tell, and it does. Pure."""
    there: dict[Life, list[Revision]] = {}
    for one in revisions:
        if one.verified and one.position <= position and _counts(one, begun):
            there.setdefault(one.life, []).append(one)
    earliest = min(there, default=None)
    for life in sorted(there, reverse=True):
        # Older revisions make room first: if an earlier life has one, this one's first is there.
        first = min(there[life], key=_age)
        is_first = life != earliest or (begun is not None and first.position == begun.position)
        began_here = is_first and first.position == position
        if to_ms is None or not began_here or first.created_ms <= to_ms:
            return max(there[life], key=_age)
    return None


def _counts(one: Revision, begun: Generation | None) -> bool:
    """The log went over to its life, as far as it still says so."""
    if begun is None or one.life < begun.life:
        return True
    return one.is_of(begun)


def _age(one: Revision) -> tuple[Position, int]:
    return one.position, one.created_ms


def _shown(time_ms: int) -> str:
    found = datetime.fromtimestamp(time_ms / 1_000, UTC)
    return found.isoformat(timespec="seconds").replace("+00:00", "Z")
