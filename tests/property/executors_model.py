"""Random apps and random logs for the executors, and how their runs are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from hypothesis import note

from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.execute.columnar import ColumnarExecutor, NotColumnar, Unfit
from lockstep.execute.observe import Observe
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import AppPlan, build
from lockstep.siddhiql import check
from tests.property.executors_absences import waiting
from tests.property.executors_patterns import pattern

DEFINITIONS = """
define stream S (s string, i int, l long, d double, f float, b bool, t long);
define stream R (s string, i int, d double, t long);
"""
_TYPES = {"S": "sildfbt", "R": "sidt"}
_DOUBLES = (0.1, 0.2, 0.3, 1.5, -2.25, 7.0, 1e10, 123.456)
_Entry = TypeVar("_Entry")
_STEPS = (0, 0, 0, 1, 7, 50, 100, 400)


# --- apps
# ------------------------------------------------------------------------------------------


class Apps:
    """Random apps over the streams of DEFINITIONS."""

    def __init__(self, random: Random, kinds: Sequence[Callable[[Apps], str]] = ()) -> None:
        self._random = random
        self._count = 0
        self._kinds = kinds or PARTS

    def app(self) -> str:
        """An app of one to three parts, in event time or not."""
        head = self._random.choice(("", "@app:playback\n"))
        return assembled(head, self.parts(self._random.randint(1, 3)))

    def parts(self, count: int) -> list[str]:
        """So many, each with streams of its own."""
        return [self._random.choice(self._kinds)(self) for _ in range(count)]

    def name(self) -> str:
        """A fresh stream."""
        self._count += 1
        return f"O{self._count}"

    def pick(self, *choices: str) -> str:
        """One of them."""
        return self._random.choice(choices)

    def keys(self, *attributes: str) -> str:
        """What makes a partition's instances: both streams, or one, and the other is broadcast."""
        of = [f"{self.pick(*(attributes or ('s',)))} of {stream}" for stream in "SR"]
        return self.pick(", ".join(of), ", ".join(of), *of)

    def number(self, depth: int = 1) -> str:
        """A numeric expression of S."""
        if depth == 0 or self._random.random() < 0.4:
            return self.pick("i", "l", "d", "f", "2", "3", "0.5", "4L", "1.5f")
        operator = self.pick("+", "-", "*", "/", "%")
        return f"({self.number(depth - 1)} {operator} {self.number(depth - 1)})"

    def condition(self, depth: int = 1) -> str:
        """A condition on S."""
        if depth == 0 or self._random.random() < 0.5:
            compared = (
                f"{self.number()} {self.pick('<', '<=', '>', '>=', '==', '!=')} {self.number()}"
            )
            return self.pick(compared, compared, "s == 'a'", "s != 'b'", "b", "not b", "d is null")
        word = self.pick("and", "or")
        return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"

    def aggregate(self) -> str:
        """An aggregator call on S."""
        name = self.pick(
            "sum",
            "sum",
            "avg",
            "avg",
            "min",
            "max",
            "stdDev",
            "distinctCount",
            "minForever",
            "maxForever",
            "count",
        )
        if name == "count":
            return "count()"
        if name == "distinctCount":
            return f"distinctCount({self.pick('s', 'i', 'l', 'd')})"
        return f"{name}({self.pick('i', 'l', 'd', 'f', 'i * 2', 'd + 1.0')})"

    def hosted(self) -> str:
        """A call of an aggregator that has no columns of its own."""
        return self.pick(
            "and(b is null or b)",
            "or(default(b, false))",
            "str:groupConcat(s)",
            "str:groupConcat(s, '-', true, 'DESC')",
            "math:percentile(d, 75.0)",
            "sizeOfSet(unionSet(createSet(i)))",
            "list:size(list:collect(l, true))",
            "map:toJSON(map:collect(coalesce(s, 'z'), d))",
            "json:group(map:toJSON(map:create('s', coalesce(s, 'z'))))",
        )

    def select(self, *, aggregated: bool) -> str:
        """A select list; its last item is a number called n."""
        items = [
            self.pick(
                "s", "'x' as s", "str:upper(coalesce(s, 'z')) as s", "ifThenElse(b, s, 'b') as s"
            )
        ]
        items += [f"{self.number()} as a{k}" for k in range(self._random.randint(0, 2))]
        if self._random.random() < 0.3:
            items.append(self.pick("eventTimestamp() as at", "currentTimeMillis() as at", "b"))
        calls = self._random.randint(1, 3) if aggregated else 0
        items += [f"{self.aggregate()} as c{k}" for k in range(calls)]
        if aggregated and self._random.random() < 0.4:
            items.append(f"{self.hosted()} as h")
        items.append(f"{'sum(i)' if aggregated else 'i * 3L'} as n")
        return ", ".join(items)

    def window(self) -> str:
        """A window of S, or none."""
        return self.pick(
            "",
            f"#window.length({self._random.randint(0, 6)})",
            f"#window.time({self.pick('100', '300', '1 sec')})",
            "[not (t is null)]#window.externalTime(t, 300)",
            f"#window.lengthBatch({self._random.randint(1, 6)})",
            f"#window.timeBatch({self.pick('300', '300, 50')})",
            f"[not (t is null)]#window.externalTimeBatch(t, {self.pick('300', '200, 0')})",
        )

    def clauses(self) -> str:
        """group by and having."""
        by = self.pick("", " group by s", " group by s, b", " group by d", " group by i")
        return by + self.pick("", "", " having n > 0", " having n is null or n < 20")


def assembled(head: str, parts: Sequence[str]) -> str:
    """An app of these parts, behind the streams that all of them know."""
    tables = "".join(dict.fromkeys(line for part in parts for line in _tables_of(part)))
    streams = "".join(part.rpartition("\n")[0] + "\n" for part in parts if "define" in part)
    queries = "\n".join(part.rpartition("\n")[2] if "define" in part else part for part in parts)
    return head + DEFINITIONS + tables + streams + queries


def _plain(apps: Apps) -> str:
    first, second = apps.name(), apps.name()
    aggregated = apps.pick("yes", "no") == "yes"
    before = apps.pick("", f"[{apps.condition()}]")
    behind = apps.pick("", "", f"[{apps.condition(0)}]")
    kinds = apps.pick("", "", "", "expired events ", "all events ")
    query = (
        f"from S{before}{apps.window()}{behind} select {apps.select(aggregated=aggregated)}"
        f"{apps.clauses() if aggregated else ''} insert {kinds}into {first};"
    )
    window = apps.pick("", "#window.length(3)", "#window.time(200)", "#window.lengthBatch(2)")
    return query + (
        f"\nfrom {first}{window} select s, sum(n) as n, count() as c group by s insert into {second};"  # noqa: E501
    )


def _function(apps: Apps) -> str:
    function, values = apps.pick(
        "#str:tokenize(s, 'b')|token",
        "#unique:deduplicate(i, 200)|s, i",
        "#pol2Cart(d, d)[x > 0.0]|x, y",
        "#geo:stationary(s, d, d, 200000, 300)|stationary",
        "#unique:deduplicate(s, 100)[i > 0]#str:tokenize(s, '[ac]', true)|token, s",
        "#json:tokenize(map:toJSON(map:create('s', s)), '$.s')|jsonElement",
    ).split("|")
    window = apps.pick("", "", "#window.length(3)", "#window.time(200)", "#window.lengthBatch(2)")
    more = apps.pick("", f", sum(i) as n, {apps.hosted()} as h")
    by = apps.pick("", " group by s") if more else ""
    query = (
        f"from S[not (s is null) and not (i is null) and not (d is null)]{function}{window}"
        f" select {values}{more}{by} insert into {apps.name()};"
    )
    return f"partition with (s of S) begin {query} end;" if apps.pick("", "", "in") else query


def _partition(apps: Apps) -> str:
    key = apps.pick("s", "i", "d", "b")
    out, other = apps.name(), apps.name()
    window = apps.pick("", "#window.length(2)", "#window.time(300)")
    select = apps.select(aggregated=True)
    own = f"from S select s, {apps.number()} as n"
    shared = f"from R{window} select s, i as n, count() as c"
    return (
        f"partition with ({key} of S) begin"
        f" from S[{apps.condition()}]{window} select {select}{apps.clauses()} insert into #X{out};"
        f" from #X{out} select s, n, count() as c insert into {out};"
        f"  {apps.pick(own, own, shared)} insert into {other}; end;"
    )


def _pattern(apps: Apps) -> str:
    out = apps.name()
    second = apps.pick("S[i > e1.i]", "R[s == e1.s and i >= e1.i]", "S[d < e1.d * 2.0]", "R")
    third = apps.pick("", f" -> e3={apps.pick('S[s != e1.s]', 'R[i < e2.i]', 'S')}")
    within = apps.pick("", " within 200 milliseconds", " within 1 sec")
    pattern = f"every e1=S[{apps.condition(0)}] -> e2={second}{third}{within}"
    select = f"e1.s as s, e2.i as i, e1.d as d{', e3.i as k' if third else ''}, count() as c"
    query = f"from {pattern} select {select} insert into {out};"
    if apps.pick("yes", "no") == "yes":
        query = f"partition with ({apps.keys()}) begin {query} end;"
    # Texts that some matches have from earlier slices and others from this one.
    behind = apps.pick("s != 'b'", "s == 'a'", "not (s is null)")
    return query + f" from {out}[{behind}] select s, count() as n group by s insert into {out}N;"


def _join(apps: Apps) -> str:
    out = apps.name()
    windows = ("#window.length(3)", "#window.time(300)", "#window.time(100)")
    left, right = apps.pick("", *windows), apps.pick(*windows)
    kind = apps.pick("join", "left outer join", "right outer join", "full outer join")
    one = apps.pick("", " unidirectional")
    more = apps.pick("", " and x.i > y.i", " and x.d != y.d")
    return (
        f"from S{left} as x{one} {kind} R{right} as y on x.s == y.s{more}"
        f" select x.s as s, y.i as i, x.d as d, y.d as e insert into {out};"
    )


def _joined_with_its_origin(apps: Apps) -> str:
    """A stream meets what was made of it: who comes first is a matter of the queries' order."""
    out, made = apps.name(), apps.name()
    parts = [
        f"from S[i > 0] select s, i, d insert into {made};",
        f"from S#window.length(3) as x join {made}#window.length(3) as y on x.s == y.s"
        f" select x.s as s, y.i as i, x.d as d insert into {out};",
        f"from every e1=S[i > 2] -> e2={made}[s == e1.s] select e1.s as s, e2.i as i"
        f" insert into {apps.name()};",
    ]
    order = apps.pick("012", "102", "210", "021")
    # A stream that no query has written yet has to be defined.
    define = f"define stream {made} (s string, i int, d double);\n"
    return define + " ".join(parts[int(at)] for at in order)


_KEYED = "@PrimaryKey('s') define table T (s string, i int, d double);\n"
_STORED = "@store(type='rdbms') @PrimaryKey('s', 'i') define table U (s string, i int, d double);\n"
_KNOWN = "[not (s is null) and not (i is null)]"


def _tables_of(part: str) -> list[str]:
    return [text for text, name in ((_KEYED, " T "), (_STORED, " U ")) if name in part]


def _table(apps: Apps) -> str:
    out = apps.name()
    read = apps.pick("join", "left outer join")
    write = apps.pick(
        "insert into T ;",
        "update or insert into T on T.s == s;",
        "update T on T.s == s;",
        "update T set T.i = i on T.s == s;",
        "update or insert into T set T.d = d on T.s == s;",
    )
    delete = apps.pick("", f"from S{_KNOWN} select s delete T on T.s == s;")
    part = apps.pick(
        "",
        f"from S{_KNOWN} select s, d update T on T.s == s;",
        f"from S{_KNOWN} select d, i, s update or insert into T on T.s == s;",
    )
    return (
        f"from R{_KNOWN} select s, i, d {write} {delete} {part}"
        f" from S {read} T as y on S.s == y.s select S.s as s, y.i as i, y.d as d insert into {out};"  # noqa: E501
    )


def _stored(apps: Apps) -> str:
    more = apps.pick("", "set U.d = d ")
    return (
        f"from R{_KNOWN} select s, i, d update or insert into U {more}on U.s == s and U.i == i;"
        f" from S{_KNOWN} select s, i, d insert into U ;"
    )


APART: tuple[Callable[[Apps], str], ...] = (
    _plain,
    _plain,
    _plain,
    _function,
    _partition,
    _pattern,
    pattern,
    waiting,
    _join,
    _joined_with_its_origin,
)
"""Parts that share nothing with others but what comes in."""

PARTS: tuple[Callable[[Apps], str], ...] = (*APART, _table, _stored)


# --- logs
# ------------------------------------------------------------------------------------------


def entries(random: Random, count: int, *, in_event_time: bool) -> list[LogEntry]:
    """A log: records of a few chunks, ticks, late events, repeated event ids, nulls, gaps. In some
    logs all events are sent by themselves, without ids."""
    made: list[LogEntry] = []
    clock, position, at = 1000, 0, 1000
    is_plain = random.random() < 0.4
    for _ in range(count):
        position += random.choice((1, 1, 1, 2))
        clock += random.choice(_STEPS)
        if random.random() < 0.15:
            made.append(LogEntry(position, TickRecord(clock)))
            continue
        name = random.choice(("S", "S", "R"))
        has_times = in_event_time or random.random() < 0.3
        chunks = []
        for _ in range(random.choice((1, 1, 2, 5))):
            chunk = []
            for _ in range(1 if is_plain else random.choice((1, 1, 1, 2, 3, 6))):
                at += random.choice(_STEPS)
                time = (at if in_event_time else clock) - random.choice((0, 0, 0, 0, 5, 200))
                data = tuple(_value(random, kind, time) for kind in _TYPES[name])
                has_id = not is_plain and random.random() < 0.05
                key = f"id{random.randint(0, 30)}" if has_id else None
                chunk.append(InputEvent(time, data, key))
            chunks.append(tuple(chunk))
        record = EventsRecord(name, clock, tuple(chunks), has_timestamps=has_times)
        made.append(LogEntry(position, record))
    return made


def _value(random: Random, kind: str, time: int) -> Any:
    if random.random() < 0.08:
        return None
    match kind:
        case "s":
            return random.choice("abcde")
        case "d":
            return random.choice(_DOUBLES)
        case "f":
            return random.choice((0.5, 1.25, -3.0))
        case "b":
            return random.random() < 0.5
        case "t":
            return time
    return random.randint(-5, 9)


def cut(random: Random, log: Sequence[_Entry]) -> list[Sequence[_Entry]]:
    """The log in slices of random lengths."""
    slices: list[Sequence[_Entry]] = []
    at = 0
    while at < len(log):
        length = random.choice((1, 2, 5, 20, len(log)))
        slices.append(log[at : at + length])
        at += length
    return slices


# --- runs
# ------------------------------------------------------------------------------------------

Run = tuple[list[str], list[str], int]
"""(rows, observations, faults), as texts, so that 1 and 1.0 and nan compare as they should."""


def fold(plan: AppPlan, slices: Sequence[Sequence[LogEntry]], *, columnar: bool) -> Run:
    """The whole log through one executor."""
    return _fold(plan, slices, lambda: _executor(plan, columnar=columnar), None)


def fold_hopping(plan: AppPlan, slices: Sequence[Sequence[LogEntry]], random: Random) -> Run:
    """The log through executors of both kinds, each restored from the last one's snapshot."""
    return _fold(plan, slices, lambda: _executor(plan, columnar=random.random() < 0.7), random)


def compared(
    plan: AppPlan,
    log: Sequence[LogEntry],
    whole: Run,
    random: Random,
    refused: tuple[type[Exception], ...] = (NotColumnar, Unfit),
) -> str:
    """Columns, on the log cut at random, and executors that take turns bring the `whole` that the
    reference brought; else AssertionError. Gives "columnar", or which of the errors `refused` said
    that there are no columns for this.
    """
    try:
        brought = fold(plan, cut(random, log), columnar=True)
        hopped = fold_hopping(plan, cut(random, log), random)
    except refused as why:
        return type(why).__name__
    assert whole[2] == 0, "a fault that the columns did not see"
    assert brought == whole
    assert hopped == whole
    return "columnar"


def agreeing(seed: int, kinds: Sequence[Callable[[Apps], str]], length: int = 40) -> str:
    """As `compared`, of an app of these kinds and a log of that length, drawn by the seed."""
    random = Random(seed)
    text = Apps(random, kinds).app()
    note(text)
    plan = build(check(text))
    log = entries(random, length, in_event_time=plan.checked.is_playback)
    return compared(plan, log, fold(plan, [log], columnar=False), random)


def _fold(
    plan: AppPlan,
    slices: Sequence[Sequence[LogEntry]],
    make: Callable[[], Any],
    hops: Random | None,
) -> Run:
    executor = make()
    rows: list[str] = []
    seen: list[str] = []
    faults = 0
    for each in slices:
        result = executor.run_slice(each)
        rows += map(repr, result.rows)
        seen += map(repr, executor.take_observations())
        faults += len(result.faults)
        if hops is not None and hops.random() < 0.3:
            snapshot = executor.snapshot()
            executor = make()
            executor.restore(snapshot)
    return rows, seen, faults


def _executor(plan: AppPlan, *, columnar: bool) -> Any:
    kind = ColumnarExecutor if columnar else ReferenceExecutor
    return kind(plan, observe=Observe.OUTSIDE_PARTITIONS)
