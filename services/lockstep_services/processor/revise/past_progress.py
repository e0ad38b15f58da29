"""What is kept of a past while it is folded, so that whoever leads next goes on from there:
revisions of the folding state, and which fold they belong to.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Final

import msgspec
from msgspec import structs

from lockstep.control import PastStatus, forget_progress, past_key
from lockstep.events import Generation, Position, UnavailableError
from lockstep.events.outputs import RowsOfColumns
from lockstep.events.typed import from_msgpack
from lockstep.store import Deployment, Past
from lockstep_services.processor.replica.site import Site
from lockstep_services.processor.revise.pacing import BUSY_SHARE
from lockstep_services.processor.revise.revisions import RevisionLoop
from lockstep_services.processor.state.engine import AppEngine
from lockstep_services.processor.state.envelope import Contents, EnvelopeError, unseal


class _Progress(msgspec.Struct, array_like=True, frozen=True):
    fold: str
    next_due_ms: int | None
    status: PastStatus


@dataclass(frozen=True, slots=True)
class Kept:
    """A state that a fold had come to; `status`: what was counted up to there."""

    revision: str
    position: Position
    contents: Contents
    next_due_ms: int | None
    status: PastStatus


def fold_of(wanted: Deployment, past: Past) -> str:
    """Tells folds apart: of which text, of what, into which life, and what is left out of it."""
    left_out = sorted(one.position for one in wanted.origin.exclusions)
    said = (wanted.app, wanted.version, replace(past, before=None), left_out)
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()


class PastProgress:
    """Of one fold."""

    def __init__(self, site: Site, revisions: RevisionLoop, wanted: Deployment, past: Past) -> None:
        self._site, self._revisions = site, revisions
        self._store = site.world.store.revisions
        self._settings = site.settings.processor
        self._version: Final = wanted.version
        self._state: Final = Generation(past.life, past.after)
        self._fold: Final = fold_of(wanted, past)
        self._next_ms = site.clock.monotonic_ms() + self._settings.past_revision_interval_ms

    @property
    def is_due(self) -> bool:
        """It is time to keep it again."""
        return self._site.clock.monotonic_ms() >= self._next_ms

    async def found(self) -> AsyncIterator[Kept]:
        """What is kept of this very fold, the furthest first; of earlier folds it goes.
        UnavailableError."""
        there = await self._store.list(*past_key(self._site.name))
        if gone := [one.id for one in there if one.life < self._state.life]:
            await self._store.delete(gone)
        for one in there:
            if not one.verified or (one.life, one.version) != (self._state.life, self._version):
                continue
            try:
                contents = unseal(await self._store.load(one.id))
                progress = from_msgpack(contents.progress, _Progress)
            except (LookupError, EnvelopeError, msgspec.DecodeError) as error:
                self._site.log.warning(
                    "progress of a past is lost", revision=one.id, why=str(error)
                )
                continue
            if progress.fold == self._fold:
                due_ms, status = progress.next_due_ms, progress.status
                yield Kept(one.id, one.position, contents, due_ms, status)

    async def keep(
        self, position: Position, engine: AppEngine, rows: RowsOfColumns, status: PastStatus
    ) -> bool:
        """The engine's state, and rows that nobody else has; False where the store is away, or
        somebody else leads. All other rows up to there have to stand already."""
        began_ms = self._site.clock.monotonic_ms()
        _, contents = await engine.contents()
        progress = msgspec.msgpack.encode(_Progress(self._fold, engine.next_due_ms, status))
        contents = structs.replace(contents, rows=rows, progress=progress)
        key = past_key(self._site.name)
        try:
            saved = await self._revisions.store(position, contents, self._version, self._state, key)
            if saved is None:
                return False
            await self._store.mark_verified(saved.id)
            await self._store.purge(*key, keep=self._settings.past_revisions_to_keep)
        except UnavailableError as error:
            self._site.log.warning("progress of a past is not kept", error=str(error))
            return False
        finally:
            now_ms = self._site.clock.monotonic_ms()
            rest_ms = max(
                self._settings.past_revision_interval_ms, BUSY_SHARE * (now_ms - began_ms)
            )
            self._next_ms = now_ms + rest_ms
        self._site.log.info(
            "progress of a past is kept", position=position, size_bytes=saved.size_bytes,
            took_ms=now_ms - began_ms,
        )  # fmt: skip
        return True

    async def forget(self) -> None:
        """The app goes on with it."""
        try:
            await forget_progress(self._store, self._site.name, self._state.life)
        except UnavailableError as error:  # it goes with the next revision
            self._site.log.warning("progress of a past is left", error=str(error))
