"""What becomes of a run, step by step, and which runs there shall be. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lockstep.batch.header import Header, Missed
from lockstep.batch.model import Marks, Run, Script, State
from lockstep.batch.outputs import ToTable
from lockstep.settings import BatchSettings

MAX_DEATHS: Final = 5
"""So often whoever runs it may die of it, or with it."""
MAX_ERROR_CHARACTERS: Final = 2_000
MAX_LINE_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True)
class Planned:
    """Runs that shall be there, oldest first, and up to when times have been looked at."""

    runs: Sequence[Run]
    up_to_ms: int


def planned(script: Script, header: Header, now_ms: int, most: int) -> Planned:
    """What is due of a script by now. Behind a downtime that is the latest time alone, or each, as
    the script says; of those the last `most`."""
    if script.is_paused or header.schedule is None:
        return Planned((), script.from_ms)
    last: deque[int] = deque(maxlen=most if header.missed is Missed.EACH else 1)
    passed = 0
    for due_ms in header.schedule.times(script.from_ms, now_ms):
        last.append(due_ms)
        passed += 1
    if not last:
        return Planned((), script.from_ms)
    left_out = passed - len(last)
    runs = [
        Run(
            script.name, script.version, script.digest, due_ms,
            missed=left_out if due_ms == last[0] else 0,
        )
        for due_ms in last
    ]  # fmt: skip
    return Planned(runs, last[-1])


def startable(runs: Iterable[Run], now_ms: int) -> list[Run]:
    """Of open runs those that may begin or go on: of each script the oldest, when its time is
    there. The others wait for it, as what is new to them begins where it ends. A run by hand may be
    due ahead of `now_ms`, by the clock of a coordinator: an earlier one may still be planned."""
    oldest: dict[str, Run] = {}
    for one in runs:
        if one.script not in oldest or one.due_ms < oldest[one.script].due_ms:
            oldest[one.script] = one
    found = [one for one in oldest.values() if max(one.due_ms, one.not_before_ms) <= now_ms]
    return sorted(found, key=lambda one: (one.due_ms, one.script))


def begun(run: Run, holder: str, now_ms: int, before: Run | None, up_to: Marks) -> Run:
    """An attempt begins. `before`: the newest earlier run whose rows are kept; `up_to`: what the
    archive has now. Neither counts when an attempt before this one has noted them."""
    found = replace(run, holder=holder, not_before_ms=0, error=None)
    if run.is_kept:
        return found
    if run.state is State.RUNNING:
        found = replace(found, deaths=run.deaths + 1)
    if run.up_to is None:
        found = replace(
            found,
            up_to=dict(up_to),
            after={} if before is None else dict(before.up_to or {}),
            since_ms=0 if before is None else before.due_ms,
        )
    return replace(
        found, state=State.RUNNING, attempts=run.attempts + 1, begun_ms=run.begun_ms or now_ms
    )


def is_hopeless(run: Run) -> bool:
    """Too many have died over it to try again."""
    return run.deaths >= MAX_DEATHS


def kept(run: Run, header: Header, rows: int, now_ms: int, log: Sequence[str]) -> Run:
    """Its rows are in its table."""
    found = replace(run, is_kept=True, rows=rows, log=cut(log))
    if rows and not isinstance(header.output, ToTable):
        return replace(found, state=State.SENDING)
    return succeeded(found, now_ms)


def succeeded(run: Run, now_ms: int) -> Run:
    """All is done."""
    return replace(run, state=State.SUCCEEDED, ended_ms=now_ms, error=None, holder="")


def cancelled(run: Run, now_ms: int) -> Run:
    """Somebody did not want it."""
    return replace(run, state=State.CANCELLED, ended_ms=now_ms, holder="", is_unwanted=True)


def failed(run: Run, error: str, now_ms: int, log: Sequence[str] = ()) -> Run:
    """For good."""
    return replace(
        run, state=State.FAILED, ended_ms=now_ms, holder="", error=error[:MAX_ERROR_CHARACTERS],
        log=cut(log) or run.log,
    )  # fmt: skip


def tried(
    run: Run, header: Header, error: str, now_ms: int, settings: BatchSettings, log: Sequence[str]
) -> Run:
    """An attempt failed: there is another one after a pause, or it was the last."""
    if run.attempts - run.deaths > header.retries:
        return failed(run, error, now_ms, log)
    pause_ms = backoff_ms(settings, run.attempts - run.deaths)
    return replace(
        run, state=State.DUE, holder="", not_before_ms=now_ms + pause_ms,
        error=error[:MAX_ERROR_CHARACTERS], log=cut(log),
    )  # fmt: skip


def unsent(run: Run, error: str, attempt: int, now_ms: int, settings: BatchSettings) -> Run:
    """Its rows are kept, and could not be sent yet: that is tried for as long as it takes."""
    pause_ms = backoff_ms(settings, attempt)
    return replace(run, not_before_ms=now_ms + pause_ms, error=error[:MAX_ERROR_CHARACTERS])


def given_back(run: Run) -> Run:
    """Who ran it stops in good order: that was no attempt."""
    if run.is_kept:
        return replace(run, holder="")
    return replace(run, state=State.DUE, holder="", attempts=max(0, run.attempts - 1))


def backoff_ms(settings: BatchSettings, attempt: int) -> int:
    """Behind so many attempts, the first of them 1."""
    grown: int = settings.retry_backoff_ms * 2 ** min(max(attempt, 1) - 1, 20)
    return min(grown, settings.retry_backoff_max_ms)


def superfluous(runs: Sequence[Run], keep: int) -> list[int]:
    """The due times of finished runs that are to be forgotten. `runs`: of one script, the newest
    first. The newest one whose rows are kept says what is new to the next, and stays."""
    newest = next((one for one in runs if one.is_kept), None)
    finished = [one for one in runs if not one.is_open]
    return [one.due_ms for one in finished[keep:] if one is not newest]


def cut(log: Sequence[str]) -> tuple[str, ...]:
    """Lines as they are kept."""
    return tuple(one[:MAX_LINE_CHARACTERS] for one in log)
