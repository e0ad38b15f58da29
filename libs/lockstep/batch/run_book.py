"""Runs in the store: made once for a due time, and changed by who has seen them as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lockstep.batch import steps
from lockstep.batch.book import ATTEMPTS, NotPossibleError, ScriptBook, contended
from lockstep.batch.model import RUN, Run, entry_of, read_entry
from lockstep.clock import Clock
from lockstep.settings import BatchSettings
from lockstep.store import BatchEntries


@dataclass(frozen=True, slots=True)
class Seen:
    """A run, and the revision in which it was read."""

    run: Run
    revision: int


class RunBook:
    """Of all scripts."""

    def __init__(
        self, scripts: ScriptBook, entries: BatchEntries, clock: Clock, settings: BatchSettings
    ) -> None:
        self._scripts = scripts
        self._entries = entries
        self._clock = clock
        self._settings = settings

    async def of(self, name: str, limit: int = 1_000) -> Sequence[Run]:
        """Of a script, the newest first."""
        return [read_entry(one, Run) for one in await self._entries.read(RUN, name, limit=limit)]

    async def open(self) -> Sequence[Seen]:
        """Of all scripts: where something is left to do."""
        found = await self._entries.read(RUN, open_only=True)
        return [Seen(read_entry(one, Run), one.revision) for one in found]

    async def get(self, name: str, due_ms: int) -> Seen | None:
        """As it is now."""
        found = await self._entries.get(RUN, name, due_ms)
        return None if found is None else Seen(read_entry(found, Run), found.revision)

    async def plan(self, run: Run) -> bool:
        """Makes a run; False where there is one for that time."""
        return await self._entries.put(entry_of(run))

    async def add(self, name: str) -> Run:
        """One more, by hand. NotPossibleError while one of these waits."""
        script = await self._scripts.script(name)
        waiting = await self._entries.read(RUN, name, open_only=True)
        runs = [read_entry(one, Run) for one in waiting]
        if any(one.by_hand and not one.attempts for one in runs):
            raise NotPossibleError(f"a run of '{name}' by hand waits already")
        newest = await self.of(name, limit=1)
        now_ms = max([self._clock.now_ms(), *(one.due_ms + 1 for one in newest)])
        for due_ms in range(now_ms, now_ms + ATTEMPTS):
            one = Run(name, script.version, script.digest, due_ms, by_hand=True)
            if await self.plan(one):
                return one
        raise contended()

    async def write(self, seen: Seen, run: Run) -> Seen | None:
        """What became of it; None when somebody else has written."""
        if not await self._entries.put(entry_of(run, seen.revision)):
            return None
        return Seen(run, seen.revision + 1)

    async def cancel(self, name: str) -> Run:
        """The run of a script that is under way, else the oldest that waits: gone at once, or by
        who runs it. NotPossibleError when there is none."""
        await self._scripts.script(name)
        for _ in range(ATTEMPTS):
            found = await self._entries.read(RUN, name, open_only=True)
            if not found:
                raise NotPossibleError(f"no run of '{name}' is under way or waits")
            entry = found[-1]
            before = read_entry(entry, Run)
            if before.holder:
                after = replace(before, is_unwanted=True)
            else:
                after = steps.cancelled(before, self._clock.now_ms())
            if await self._entries.put(entry_of(after, entry.revision)):
                return after
        raise contended()

    async def forget(self, name: str) -> int:
        """Runs beyond those that are kept; gives how many went."""
        going = steps.superfluous(await self.of(name, 10_000), self._settings.runs_to_keep)
        return await self._entries.delete(RUN, name, going) if going else 0
