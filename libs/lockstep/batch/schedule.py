"""When a script is due: a Quartz cron line in a time zone. Pure; the engine reads the cron line.

A time that a clock change skips is due when the clocks have gone forward; a time that comes twice
is due the first time alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final
from zoneinfo import ZoneInfo

from lockstep.operators.cron import CronError, CronSchedule
from lockstep.siddhiql.cron import check_cron

_FIELDS: Final = (6, 7)
_HINT: Final = "seconds first, then the time zone: 0 0 6 * * ? Europe/Berlin"
LOOKED_AHEAD: Final = 50
"""So many times are looked at to find the least pause between two."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A cron line and the name of a time zone."""

    cron: str
    zone: str

    def __str__(self) -> str:
        return f"{self.cron} {self.zone}"

    def next_after(self, after_ms: int) -> int | None:
        """The first time (epoch ms) later than that; None: never."""
        zone = ZoneInfo(self.zone)
        moment = datetime.fromtimestamp(after_ms / 1000, zone)
        wall_ms = _wall_ms(moment)
        while (found := _cron(self.cron).next_after(wall_ms)) is not None:
            due_ms = _instant_ms(found, zone)
            if due_ms > after_ms:
                return due_ms
            wall_ms = found
        return None

    def times(self, after_ms: int, until_ms: int) -> Iterator[int]:
        """All later than the one, up to the other."""
        at_ms = self.next_after(after_ms)
        while at_ms is not None and at_ms <= until_ms:
            yield at_ms
            at_ms = self.next_after(at_ms)

    def least_pause_ms(self, after_ms: int) -> int | None:
        """Between two of the next times; None where there are not two."""
        times = list(islice(self.times(after_ms, 2**62), LOOKED_AHEAD))
        return min((two - one for one, two in pairwise(times)), default=None)


@dataclass(frozen=True, slots=True)
class NoSchedule:
    """Why a line is none."""

    message: str
    hint: str


def schedule_of(line: str) -> Schedule | NoSchedule:
    """Of `second minute hour day month weekday [year] Zone/Name`."""
    words = line.split()
    *fields, zone = words
    if len(words) in (5, 6) and not _is_zone(zone):
        hint = f"{_HINT}; put a 0 for the seconds in front" if len(words) == 5 else _HINT
        return NoSchedule("the cron line names no time zone", hint)
    if not _is_zone(zone):
        return NoSchedule(f"'{zone}' is no time zone", _HINT)
    if len(fields) not in _FIELDS:
        hint = f"{_HINT}; put a 0 for the seconds in front" if len(fields) == 5 else _HINT
        return NoSchedule(f"the cron line has {len(fields)} fields instead of 6 or 7", hint)
    cron = " ".join(fields)
    wrong = check_cron(cron)
    if wrong is not None:
        return NoSchedule(f"the cron line {wrong}", _HINT)
    try:
        if _cron(cron).next_after(0) is None:
            return NoSchedule("the cron line is never due", "there is no such day")
    except CronError as error:
        return NoSchedule(f"the cron line is none: {error.message}", _HINT)
    return Schedule(cron, zone)


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return False
    return True


@lru_cache(maxsize=1_024)
def _cron(text: str) -> CronSchedule:
    return CronSchedule(text)


def _wall_ms(moment: datetime) -> int:
    """What the clock shows, as if it were UTC: the engine's schedules know no zones."""
    return int(moment.replace(tzinfo=UTC, fold=0).timestamp() * 1000)


def _instant_ms(wall_ms: int, zone: ZoneInfo) -> int:
    shown = datetime.fromtimestamp(wall_ms / 1000, UTC).replace(tzinfo=zone, fold=0)
    there = shown.astimezone(UTC)
    if _wall_ms(there.astimezone(zone)) != wall_ms:  # skipped: when the clocks have gone forward
        low, high = there - timedelta(hours=24), there
        before = low.astimezone(zone).utcoffset()
        while high - low > timedelta(seconds=1):
            middle = low + (high - low) / 2
            if middle.astimezone(zone).utcoffset() == before:
                low = middle
            else:
                high = middle
        there = high.replace(microsecond=0)
    return int(there.timestamp() * 1000)
