"""Random aggregations, and random logs that reach over seconds to years and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from lockstep.events import AttributeType, EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.siddhiql.catalogue import Argument, SignatureError
from lockstep.siddhiql.catalogue.aggregators import AggregatorExtension
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.catalogue.matching import match

ATTRIBUTES = {
    "s": AttributeType.STRING,
    "i": AttributeType.INT,
    "l": AttributeType.LONG,
    "d": AttributeType.DOUBLE,
    "f": AttributeType.FLOAT,
    "b": AttributeType.BOOL,
    "t": AttributeType.LONG,
    "u": AttributeType.STRING,
}
STREAM = f"define stream S ({', '.join(f'{a} {t.value}' for a, t in ATTRIBUTES.items())});\n"
_LEAPS = (0, 0, 1, 400, 1_000, 7_000, 61_000, 130_000, 1_000_000)
_DOUBLES = (0.1, 0.2, 0.3, -0.0, 0.0, 1.5, -2.25, 1e16, 1e-9, float("nan"))


def calls_of(extension: AggregatorExtension, attributes: Mapping[str, AttributeType]) -> list[str]:
    """The aggregator on nothing and on each attribute, where it takes that."""
    chosen = [((), "")] + [((Argument(kind),), name) for name, kind in attributes.items()]
    return [
        f"{extension.full_name}({name})"
        for arguments, name in chosen
        if takes(extension, arguments)
    ]


def takes(extension: AggregatorExtension, arguments: Sequence[Argument]) -> bool:
    """Whether it is declared for such arguments."""
    try:
        match(extension, arguments)
    except SignatureError:
        return False
    return True


KEPT = tuple(
    call
    for extension in default_catalogue().aggregators()
    if extension.keeps
    for call in calls_of(extension, {name: ATTRIBUTES[name] for name in "sildf"})
)
"""Calls of all aggregators that an incremental aggregation takes."""
VALUES = (*(call for call in KEPT if "(s)" not in call), "i", "i * 2")
"""What can be selected, of a number."""
OF_JOINED = tuple(
    call
    for extension in default_catalogue().aggregators()
    if extension.columns
    for call in calls_of(
        extension,
        {
            "x.i": AttributeType.INT,
            "x.t": AttributeType.LONG,
            "y.AGG_TIMESTAMP": AttributeType.LONG,
        },
    )
)
"""Calls of all aggregators that run in columns, on what a join finds."""
_GRANULARITIES = ("sec", "min", "hour", "day", "month", "year")


def aggregation(random: Random, name: str, *, selected: str | None = None) -> str:
    """The definition of an aggregation of S, or of a stream with the attributes of S."""
    calls = (
        *(f"{call} as a{number}" for number, call in enumerate(KEPT)),
        "s as q",
        "b as r",
        "i * 2 as v",
        "d + f as w",
        "str:upper(coalesce(s, 'z')) as x",
    )
    items = random.sample(calls, random.randint(1, 6))
    groups = random.sample(("s", "i", "b", "d", "f"), random.choice((0, 1, 1, 2)))
    if selected is not None:
        items, groups = [selected, *items], ["s"]
    by = f" group by {', '.join(groups)}" if groups else ""
    time = random.choice(
        ("", "[not (t is null)] aggregate by t", "[not (u is null)] aggregate by u")
    )
    where, _, by_time = time.partition(" aggregate by ")
    passing = random.choice(("", "", "[i > 0]", "[d > 0.0 or b]"))
    first, last = sorted(random.choices(range(len(_GRANULARITIES)), k=2))
    every = f"{_GRANULARITIES[first]} ... {_GRANULARITIES[last]}"
    if random.random() < 0.3:
        every = ", ".join(random.sample(_GRANULARITIES, 2))
    purge = random.choice(
        (
            "",
            "@purge(enable='false')\n",
            "@purge(enable='true', interval='1 sec')\n",
            "@purge(enable='true', interval='90 sec')\n",
        )
    )
    source = "S" if selected is None else random.choice(("S", "Late"))
    return (
        f"{purge}define aggregation {name} from {source}{passing}{where}"
        f" select {', '.join(items)}{by}"
        f" aggregate{f' by {by_time}' if by_time else ''} every {every};\n"
    )


def entries(random: Random, count: int) -> list[LogEntry]:
    """A log of S: records of a few chunks and ticks; time leaps, events are late or far away."""
    made: list[LogEntry] = []
    clock = random.choice((1_000, 1_585_443_590_000, 1_603_587_600_000))
    for position in range(1, count + 1):
        clock += random.choice(_LEAPS)
        if random.random() < 0.1:
            made.append(LogEntry(position, TickRecord(clock)))
            continue
        chunks = tuple(
            tuple(
                _event(random, clock - random.choice((0, 0, 3, 2_000, 150_000, 4_000_000)))
                for _ in range(random.choice((1, 1, 3)))
            )
            for _ in range(random.choice((1, 2, 5)))
        )
        record = EventsRecord("S", clock, chunks, has_timestamps=random.random() < 0.5)
        made.append(LogEntry(position, record))
    return made


def _event(random: Random, time_ms: int) -> InputEvent:
    far_ms = random.choice((0, 0, 0, 86_400_000 * 40, -86_400_000 * 400))
    day = f"2020-0{random.randint(2, 4)}-2{random.randint(0, 9)}"
    values: tuple[Any, ...] = (
        random.choice("abcn"),
        random.randint(-5, 9),
        random.choice((1, -7, 2**62, 2**63 - 1)),
        random.choice(_DOUBLES),
        random.choice((0.5, -0.0, -3.0)),
        random.random() < 0.5,
        max(time_ms + far_ms, 0),
        f"{day} 0{random.randint(0, 3)}:{random.randint(0, 59):02}:07",
    )
    nulled = tuple(None if random.random() < 0.1 else value for value in values)
    return InputEvent(max(time_ms, 0), nulled, None)


def join(random: Random, granularities: tuple[str, ...]) -> str:
    """A query that joins S, or what timers make of it, with the aggregation A, which selects `key`
    and `n`."""
    source = random.choice(("S", "S[i > 0]", "Late"))
    kind = random.choice(("join", "join", "left outer join"))
    on = random.choice(("", " on x.s == y.key", " on x.s == y.key and x.i != y.n", " on x.i < y.n"))
    limits = random.choice(
        (
            "0L, 9000000000000L",
            "x.t - 100000L, x.t + 100000L",
            "'2020-**-** **:**:**'",
            "0L, 1500000L",
        )
    )
    if "x.t" in limits:
        source = source.partition("[")[0] + "[not (t is null)]"
    per = random.choice([f"'{each}'" for each in granularities] * 2 + [_by_sign(granularities)])
    order = random.choice(("", "", " order by at desc, n limit 3"))
    select = "x.s as s, y.AGG_TIMESTAMP as at, y.key as key, y.n as n"
    row = random.choice(("A", "A", "A[key != 'c']"))
    call = f"from {source} as x {kind} {row} as y{on} within {limits} per {per}"
    events = random.choice(("", "", "all events ", "expired events "))
    out = "Out"
    if random.random() < 0.4:
        number = random.choice(OF_JOINED)
        out = f"Sums{OF_JOINED.index(number)}"  # one stream has one type of it
        by = random.choice(("", " group by y.key", " group by x.s having n > 1"))
        select, order = f"x.s as s, y.key as key, {number} as at, count() as n{by}", ""
    return f"{call} select {select}{order} insert {events}into {out};\n"


def _by_sign(granularities: tuple[str, ...]) -> str:
    return f"ifThenElse(x.b, '{granularities[0]}', '{granularities[-1]}')"
