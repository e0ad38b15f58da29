"""Scripts in the store, and what people want of them.

Every change is made to what was read; who was overtaken reads again, and decides anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lockstep.batch.header import Header, Mistake, ScriptError
from lockstep.batch.model import RUN, SCRIPT, VERSION, Run, Script, Version, entry_of, read_entry
from lockstep.clock import Clock
from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.settings import BatchSettings
from lockstep.store import BatchEntries, BatchEntry

ATTEMPTS: Final = 8


class UnknownScriptError(LockstepError):
    """There is no script, or no run, of that name."""

    fault = Fault.USER


class NotPossibleError(LockstepError):
    """It cannot be done as things are."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class Deployed:
    """What came of a deployment."""

    script: Script
    created: bool
    changed: bool


class ScriptBook:
    """Of all scripts."""

    def __init__(self, entries: BatchEntries, clock: Clock, settings: BatchSettings) -> None:
        self._entries = entries
        self._clock = clock
        self._settings = settings

    async def scripts(self) -> Sequence[Script]:
        """All, by name."""
        return [read_entry(one, Script) for one in await self._entries.read(SCRIPT)]

    async def script(self, name: str) -> Script:
        """UnknownScriptError."""
        return read_entry(await self.entry(name), Script)

    async def entry(self, name: str) -> BatchEntry:
        """As it is stored; UnknownScriptError."""
        found = await self._entries.get(SCRIPT, name, 0)
        if found is None:
            raise UnknownScriptError(
                f"there is no script '{name[:80]}'", hint="`lockstep batch list` names all"
            )
        return found

    async def versions(self, name: str) -> Sequence[Version]:
        """Those that are kept, the newest first."""
        return [read_entry(one, Version) for one in await self._entries.read(VERSION, name)]

    async def version(self, name: str, number: int) -> Version:
        """UnknownScriptError."""
        found = await self._entries.get(VERSION, name, number)
        if found is None:
            raise UnknownScriptError(f"there is no version {number} of '{name[:80]}' (any more)")
        return read_entry(found, Version)

    def check(self, header: Header, text: str) -> None:
        """Raises ScriptError for what goes over a limit of the settings."""
        settings, mistakes = self._settings, []
        if len(text.encode()) > settings.max_script_bytes:
            mistakes.append(Mistake(1, f"it has more than {settings.max_script_bytes} bytes"))
        if (header.time_limit_ms or 0) > settings.max_time_limit_ms:
            hint = f"at most {settings.max_time_limit_ms // 1000} sec (batch.max_time_limit_ms)"
            mistakes.append(Mistake(1, "the time limit is too long", hint=hint))
        if header.schedule is not None:
            pause_ms = header.schedule.least_pause_ms(self._clock.now_ms())
            if pause_ms is not None and pause_ms < settings.min_interval_ms:
                hint = f"at least {settings.min_interval_ms // 1000} s (batch.min_interval_ms)"
                mistakes.append(Mistake(1, f"it is due every {pause_ms // 1000} s", hint=hint))
        if mistakes:
            raise ScriptError(header.name, mistakes)

    async def deploy(self, header: Header, text: str) -> Deployed:
        """Takes a checked script; a changed text is another version. ScriptError, NotPossibleError
        when there are too many."""
        self.check(header, text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        for _ in range(ATTEMPTS):
            there = await self._entries.get(SCRIPT, header.name, 0)
            now_ms = self._clock.now_ms()
            if there is None:
                await self.check_room([header.name])
                before, revision = None, 0
            else:
                before, revision = read_entry(there, Script), there.revision
                if before.digest == digest:
                    return Deployed(before, created=False, changed=False)
            number = 1 + max((one.number for one in await self.versions(header.name)), default=0)
            version = Version(header.name, number, digest, header.language, text, now_ms)
            paused = before is not None and before.is_paused
            script = Script(header.name, number, digest, now_ms, now_ms, paused)
            if await self._entries.put(entry_of(version)) and await self._entries.put(
                entry_of(script, revision)
            ):
                await self._forget_versions(script)
                return Deployed(script, created=before is None, changed=True)
        raise contended()

    async def check_room(self, names: Sequence[str]) -> None:
        """NotPossibleError where there is no room for those that are new."""
        there = {one.name for one in await self.scripts()}
        new = set(names) - there
        if new and len(there) + len(new) > self._settings.max_scripts:
            raise NotPossibleError(
                f"there are {len(there)} scripts already, and with {len(new)} more there would be "
                f"more than {self._settings.max_scripts}",
                hint="remove some, or raise batch.max_scripts",
            )

    async def _forget_versions(self, script: Script) -> None:
        keys = [one.number for one in await self.versions(script.name)]
        runs = await self._entries.read(RUN, script.name, open_only=True)
        needed = {script.version, *(read_entry(one, Run).version for one in runs)}
        going = [key for key in keys[self._settings.versions_to_keep :] if key not in needed]
        if going:
            await self._entries.delete(VERSION, script.name, going)

    async def pause(self, name: str, *, paused: bool) -> Script:
        """Times that pass while it is paused are not due."""

        def change(script: Script) -> Script:
            if script.is_paused == paused:
                return script
            return replace(script, is_paused=paused, from_ms=self._clock.now_ms())

        return await self._change(name, change)

    async def passed(self, script: Script, up_to_ms: int) -> None:
        """Times up to there have their runs; nothing if somebody has changed the script."""
        entry = await self.entry(script.name)
        if read_entry(entry, Script) == script:
            await self._entries.put(entry_of(replace(script, from_ms=up_to_ms), entry.revision))

    async def _change(self, name: str, change: Callable[[Script], Script]) -> Script:
        for _ in range(ATTEMPTS):
            entry = await self.entry(name)
            before = read_entry(entry, Script)
            after = change(before)
            if after == before or await self._entries.put(entry_of(after, entry.revision)):
                return after
        raise contended()

    async def remove(self, name: str) -> None:
        """With its versions and runs; what it has put out stays. UnknownScriptError."""
        await self.entry(name)
        await self._entries.delete(SCRIPT, name)
        for kind in (RUN, VERSION):
            await self._entries.delete(kind, name)


def contended() -> LockstepError:
    """For who was overtaken again and again."""
    return UnavailableError("others change the same script", hint="try again")
