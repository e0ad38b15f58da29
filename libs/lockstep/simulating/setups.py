"""What a simulation consists of, as JSON that people keep: a feed for each stream."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from lockstep.events.typed import converted, from_json
from lockstep.simulating.errors import SimulationError

LEAST_PACE: Final = 1e-6
"""Events per second, and times as fast: an event in eleven days. Slower ones end in numbers that
no clock has."""
MOST: Final = 10**15
"""Repetitions, events, milliseconds."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a set-up may ask for."""

    max_feeds: int
    max_rate_per_s: int
    max_rows: int


class DatabaseRows(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Rows of a named datasource: of a table, or what a SELECT gives."""

    datasource: str
    table: str = ""
    select: str = ""


class FeedSetup(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One stream's feed: what is sent (one of `random`, `csv`, `database`), how fast (`rate_per_s`,
    or `speed` times as fast as `time_column` says), and how much. `repeat` 0: until it is stopped.
    `keep_times`: events carry the time of their row; otherwise they happen when they arrive."""

    stream: str
    random: dict[str, Any] | None = None
    csv: str | None = None
    database: DatabaseRows | None = None
    rate_per_s: float = 10.0
    speed: float | None = None
    time_column: str = ""
    keep_times: bool = False
    repeat: int = 1
    limit_events: int | None = None
    for_ms: int | None = None


class Setup(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Feeds that run at the same time."""

    feeds: list[FeedSetup]

    def text(self) -> str:
        """As people keep it."""
        written = msgspec.json.format(msgspec.json.encode(self), indent=2)
        return written.decode() + "\n"


def read_setup(written: str | bytes | Mapping[str, Any], bounds: Bounds) -> Setup:
    """SimulationError says where in the document, and what is expected there."""
    try:
        if isinstance(written, Mapping):
            found = converted(written, Setup)
        else:
            found = from_json(written, Setup)
    except msgspec.ValidationError as error:
        raise SimulationError(f"{error}", where="set-up") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SimulationError(f"is not JSON: {error}", where="set-up") from error
    if not 1 <= len(found.feeds) <= bounds.max_feeds:
        raise SimulationError(
            f"{len(found.feeds)} feeds: 1 to {bounds.max_feeds} can run at a time", where="set-up"
        )
    for feed in found.feeds:
        check_feed(feed, bounds)
    return found


def check_feed(feed: FeedSetup, bounds: Bounds) -> None:
    """SimulationError names the stream."""
    given = [one is not None for one in (feed.random, feed.csv, feed.database)]
    if sum(given) != 1:
        raise _wrong(feed, "says nothing or several things to send", "random, csv or database")
    if not 0 < feed.rate_per_s <= bounds.max_rate_per_s:
        raise _wrong(
            feed, f"{feed.rate_per_s:g} events per second",
            f"more than 0, at most {bounds.max_rate_per_s}",
        )  # fmt: skip
    if feed.rate_per_s < LEAST_PACE:
        raise _wrong(feed, f"{feed.rate_per_s:g} events per second", f"at least {LEAST_PACE:g}")
    if feed.speed is not None and not (feed.speed > 0 and math.isfinite(feed.speed)):
        raise _wrong(feed, f"a speed of {feed.speed:g}", "more than 0; 1 is as it happened")
    if feed.speed is not None and feed.speed < LEAST_PACE:
        raise _wrong(feed, f"a speed of {feed.speed:g}", f"at least {LEAST_PACE:g}")
    if feed.speed is not None and (not feed.time_column or feed.random is not None):
        raise _wrong(feed, "has a speed, and no times", "name the time_column of its rows")
    if feed.keep_times and not feed.time_column:
        raise _wrong(feed, "keeps times, and has none", "name the time_column of its rows")
    if feed.repeat < 0:
        raise _wrong(feed, f"repeats {feed.repeat} times", "1 or more, or 0: until it is stopped")
    counts = (("limit_events", feed.limit_events), ("for_ms", feed.for_ms))
    for name, value in counts:
        if value is not None and value < 1:
            raise _wrong(feed, f"{name} is {value}", "1 or more, or nothing")
    for name, value in (("repeat", feed.repeat), *counts):
        if value is not None and value > MOST:
            raise _wrong(feed, f"{name} is too large", f"at most {MOST}")
    rows = feed.database
    if rows is not None and bool(rows.table) == bool(rows.select):
        raise _wrong(feed, "asks a database for nothing or for two things", "table or select")


def _wrong(feed: FeedSetup, message: str, hint: str) -> SimulationError:
    return SimulationError(message, where=feed.stream, hint=hint)
