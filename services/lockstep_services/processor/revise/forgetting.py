"""What goes once a revision has been taken: older ones, and what the input log holds for them
alone. A log that is full takes nothing, so nothing moves and no revision is due: room is made then
from the revisions that there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.bus import LogFullError, LogName
from lockstep.control import UnitView, archived_to, forget_progress, unit_key
from lockstep.control.endings import Ending, ending_id, endings_of, last_revision
from lockstep.control.units import places_of, unit_label
from lockstep.events import Life, Position, TickRecord
from lockstep.store import Deployment
from lockstep.store.rules import counts_for
from lockstep_services.processor.replica.leading import Lead, Reach
from lockstep_services.processor.replica.origin import forgettable
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site

NOT_FULL: Final = ""


class Forgetting:
    """`forget` behind a revision; `make_room` from time to time where nothing moves."""

    def __init__(self, site: Site, running: Running, lead: Lead, reach: Reach) -> None:
        self._site = site
        self._running = running
        self._lead = lead
        self._reach = reach
        self._filling = reach.filling
        self._settings = site.settings.processor
        self._limit_bytes = site.settings.bus.max_log_bytes
        self._record_bytes = site.settings.bus.max_message_bytes
        self._revisions = site.world.store.revisions
        self._tidied: Life | None = None
        self._asked_at: Position = 0
        self._asked = 0

    async def forget(self) -> None:
        """What the revisions that there are do not need."""
        where = self._site.name.key
        state, there = self._running.generation, await self._revisions.list(*where)
        if any(one.life > state.life for one in there):
            # A later state is about to begin: until it has, those of this one are not to spare.
            return
        # In this life another leader was about to begin elsewhere: no log will ever bear that.
        void = [one.id for one in there if one.life == state.life and not one.is_of(state)]
        if void:
            await self._revisions.delete(void)
        await self._revisions.purge(*where, keep=self._settings.revisions_to_keep)
        await self._forget_endings()
        await self._forget_pasts()
        is_full, first = self._is_nearly_full(), 0
        if is_full:
            first, _ = await self._site.input.bounds()
        why = await self._trim(first, newest=is_full)
        self._tell(why if is_full else NOT_FULL)

    async def make_room(self) -> None:
        """In a log that is nearly full the newest revision that counts decides, instead of the
        oldest. Where the log is known to have room, nobody is asked for anything."""
        if not self._may_be_nearly_full():
            self._tell(NOT_FULL)
            return
        first, last = await self._site.input.bounds()
        self._filling.forgot(first - 1)
        if not self._may_be_nearly_full():
            self._tell(NOT_FULL)
            return
        is_full = self._is_nearly_full() or await self._takes_nothing(last)
        state = self._running.generation
        there = await self._revisions.list(*self._site.name.key)
        if any(one.life > state.life for one in there):
            return
        # Where nobody knows, what the archive has come to have, or another unit, can go now.
        why = await self._trim(first, newest=is_full)
        self._tell(why if is_full else NOT_FULL)

    async def _trim(self, first: Position, *, newest: bool) -> str:
        """Up to what nobody needs any more; why nothing behind `first` can go, if nothing can."""
        view = self._running.wanted.view
        needed = [(await self._needed_by(one, newest=newest), one) for one in view.together]
        oldest, whose = min(needed)
        # The record at which a revision stands is kept: it may be the end of a layout.
        up_to = oldest - 1
        why = f"{unit_label(unit_key(whose))} has no newer revision than that at position {oldest}"
        kept = await archived_to(view, self._site.settings.archive, self._site.world.store.cursors)
        if kept is not None and kept < up_to:
            up_to, why = kept, f"the archive has it up to position {kept} only"
        elif oldest >= self._running.engine.position:
            why = NOT_FULL  # what is folded can go but for one record
        if up_to <= 0 or up_to < first:
            return why
        await self._site.input.trim(up_to)
        self._filling.forgot(up_to)
        return NOT_FULL

    async def _needed_by(self, name: LogName, *, newest: bool) -> Position:
        """From where on a unit may have to fold again."""
        last = await last_revision(self._revisions, name)
        if last is not None:
            return last.position
        there = await self._revisions.list(*name.key)
        if newest:
            bus, is_here = self._site.world.bus, name == self._site.name
            log = self._site.output if is_here else await bus.output_log(name, make=False)
            state = (await log.tail()).generation
            # Another state has not begun: its revisions may never count.
            own = [one for one in there if state and counts_for(one, state)]
            if own:
                return max(one.position for one in own)
        return forgettable(there)

    async def _takes_nothing(self, last: Position) -> bool:
        """Whether the log is full, where nobody knows how large its records are: a tick would be
        refused. Each that is taken moves the state, so that newer revisions take the place of those
        that keep the log: there are no more ticks than that takes."""
        running = self._running
        position = running.engine.position
        if position != self._asked_at:
            self._asked = 0
        now_ms, due_ms = self._site.clock.now_ms(), running.engine.next_due_ms
        rests = position == last and running.engine.stopped is None and not self._reach.has_ended
        if due_ms is not None and due_ms <= now_ms:  # what is due comes in steps of its own
            return False
        if not self._lead.is_active or not rests or self._asked > self._settings.revisions_to_keep:
            return False
        tick = TickRecord(now_ms)
        dedup_id = f"room/{self._lead.epoch}/{position}"
        try:
            stored = await self._site.input.append(tick, dedup_id=dedup_id)
        except LogFullError:
            return True
        self._asked_at, self._asked = stored.position, self._asked + 1
        return False

    def _tell(self, why: str) -> None:
        trouble = None
        if why:
            trouble = (
                f"its input log is full, or nearly (bus.max_log_bytes = {self._limit_bytes}), and"
                f" can forget nothing: {why}"
            )
        if trouble and trouble != self._reach.input_full:
            self._site.log.warning("the input log has no room", why=why)
        self._reach.input_full = trouble

    def _is_nearly_full(self) -> bool:
        return self._filling.is_nearly_full(self._limit_bytes, self._record_bytes)

    def _may_be_nearly_full(self) -> bool:
        return self._filling.may_be_nearly_full(self._limit_bytes, self._record_bytes)

    async def _forget_endings(self) -> None:
        """Of a fleet the ends of so many layouts are kept, and one more, and the one which the app
        goes back to. Its first unit sees to that."""
        view = self._running.wanted.view
        if not isinstance(view, UnitView) or view.log != view.log_at(*places_of(view.whole)[0]):
            return
        endings = await endings_of(self._revisions, self._site.name)
        gone = over(endings, view.deployment, self._settings.revisions_to_keep)
        await self._revisions.delete([state.id for one in gone for _, state in one.states])

    async def _forget_pasts(self) -> None:
        """What is left of folds that have ended without whoever led them, or were called off."""
        wanted = self._running.wanted.view.deployment.life
        if wanted != self._tidied:
            await forget_progress(self._revisions, self._site.name, wanted)
            self._tidied = wanted


def over(endings: Sequence[Ending], present: Deployment, keep: int) -> list[Ending]:
    """Those that make room, of the latest first. Not the one with which the present layout begins:
    some of its units may not have read it yet. Pure."""
    restoration, needed = present.origin.restoration, ""
    if restoration is not None and restoration.life.number == present.layout:
        needed = restoration.revision
    ended = [one for one in endings if one.layout < present.layout]
    return [one for one in ended[keep + 1 :] if ending_id(one.layout) != needed]
