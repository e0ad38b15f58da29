"""Buckets of time: where a second, minute, hour, day, month or year begins (semantics 17.1)."""

from __future__ import annotations

from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

from lockstep.siddhiql.ast import Granularity

_FIXED_MS = {
    Granularity.SECONDS: 1_000,
    Granularity.MINUTES: 60_000,
    Granularity.HOURS: 3_600_000,
    Granularity.DAYS: 86_400_000,
}
GMT = "GMT"


def is_gmt(zone: str) -> bool:
    """Whether the zone is the default one, in which days are all of one length."""
    return zone.upper() in ("GMT", "UTC", "Z")


def _to_ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def floor(time_ms: int, granularity: Granularity, zone: tzinfo) -> int:
    """Start of the bucket that holds the time; days and above follow the zone's calendar."""
    second_ms = time_ms - time_ms % 1_000
    moment = datetime.fromtimestamp(second_ms / 1000, zone)
    match granularity:
        case Granularity.SECONDS:
            return second_ms
        case Granularity.MINUTES:
            return _instant(moment.replace(second=0), second_ms)
        case Granularity.HOURS:
            return _instant(moment.replace(minute=0, second=0), second_ms)
    midnight = moment.replace(hour=0, minute=0, second=0)
    match granularity:
        case Granularity.DAYS:
            return _instant(midnight)
        case Granularity.MONTHS:
            return _instant(midnight.replace(day=1))
        case _:
            return _instant(midnight.replace(month=1, day=1))


def _instant(local: datetime, until_ms: int | None = None) -> int:
    """When it is so late in the zone. Where it comes twice it is the second time, if that is up to
    `until_ms`; a day, which has no such limit, begins with the first, for both its halves. Where
    the clock is put forward over it, it is when that is done."""
    first_ms, second_ms = _to_ms(local.replace(fold=0)), _to_ms(local.replace(fold=1))
    if first_ms > second_ms:
        return _change(second_ms, first_ms, local.tzinfo)
    return first_ms if until_ms is None or second_ms > until_ms else second_ms


def _change(before_ms: int, behind_ms: int, zone: tzinfo | None) -> int:
    """The one change of the offset between two times, which is at a whole second."""
    before, behind = before_ms // 1000, behind_ms // 1000
    old = datetime.fromtimestamp(before, zone).utcoffset()
    while behind - before > 1:
        middle = (before + behind) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == old:
            before = middle
        else:
            behind = middle
    return behind * 1000


class Bucketing:
    """Bucket starts of one granularity in one zone; `fixed_ms`: how long each bucket is, if all are
    of one length and begin at multiples of it."""

    def __init__(self, granularity: Granularity, zone: str = GMT) -> None:
        self._granularity = granularity
        self._zone = ZoneInfo("UTC" if is_gmt(zone) else zone)
        self.fixed_ms = _FIXED_MS.get(granularity) if is_gmt(zone) else None

    def start(self, time_ms: int) -> int:
        """Start of the bucket that holds the time (ms since 1970)."""
        if self.fixed_ms is not None:
            return time_ms - time_ms % self.fixed_ms
        return floor(time_ms, self._granularity, self._zone)
