"""Definitions, annotations, partitions, aggregations (grammar 4-6, 11; semantics 15-18, 22)."""

from __future__ import annotations

import pytest

from lockstep.events import AttributeType
from lockstep.siddhiql import ast, check, parse, print_app
from lockstep.siddhiql.checked import CheckedPartition
from tests.property.siddhiql_samples import SAMPLES
from tests.unit.siddhiql.refusals import STREAMS, error_of_app, error_of_query, says

MAPPED = "@source(type='x', @map(type='json', @attributes({}))) define stream S (a int, b int);"
S = "define stream S (s string, i int, l long, d double);\n"


@pytest.mark.parametrize("text", SAMPLES, ids=["basics", "tables", "patterns", "parts", "aggs"])
def test_samples_are_valid(text: str) -> None:
    """Apps that use the whole language pass, and are equal when printed and checked again."""
    app = check(text)
    again = check(print_app(parse(text)))
    assert again.schemas == app.schemas
    assert [item.name for item in again.execution] == [item.name for item in app.execution]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"{S}define stream S (s string);", ("'S' is already defined in line 1",)),
        (f"{S}define table S (s string);", ("already defined",)),
        (f"{S}define window S (s string) length(1);", ("already defined",)),
        (f"{S}define trigger S at every 1 sec;", ("already defined",)),
        (f"{S}define aggregation S from S select s aggregate every sec;", ("already defined",)),
        (f"{S}define window W (a int) nope(1);", ("no extension exists for the window",)),
        (f"{S}define window W (a int) sort(3, b);", ("'b' is not an attribute of W",)),
        (f"{S}define trigger X at every 0 sec;", ("more than 0",)),
        (f"{S}define trigger X at 'sometimes';", ("has 1 fields", "cron")),
        (f"{S}define trigger X at '* * * * * 8';", ("'8' as day of week",)),
        (f"{S}define trigger X at '0 0 0 1,L * ?';", ("'L' as day of month", "stand alone")),
        (f"{S}define trigger X at '*/0 * * * * ?';", ("'*/0' as seconds",)),
        (f"{S}define function f[R] return int {{ }};", ("'R'", "Python or JavaScript")),
        (f"{S}define function f[scala] return int {{ }};", ("'scala'",)),
        (
            f"{S}define function f[python] return int {{ 1 }}; define function f[python] "
            "return int { 2 };",
            ("already defined",),
        ),
        ("@PrimaryKey('x') define table T (a int);", ("no attribute 'x'",)),
        ("@PrimaryKey define table T (a int);", ("names no attribute",)),
        ("@PrimaryKey('a') @PrimaryKey('a') define table T (a int);", ("stands twice",)),
        ("@Index('a', 'b') define table T (a int, b int);", ("one attribute", "@Index('b')")),
        ("@Index('a') @Index('a') define table T (a int);", ("two indexes",)),
        ("@Index('pirce') define table T (price int);", ("did you mean 'price'",)),
        ("@IndexBy('a') define table T (a int);", ("@IndexBy is not supported",)),
        ("@store(x='y') define table T (a int);", ("needs a 'type'",)),
        (
            "@store(type='rdbms', @cache(size='5', cache.policy='X')) define table T (a int);",
            ("no cache policy 'X'",),
        ),
        ("@store(type='rdbms', @cache()) define table T (a int);", ("expected",)),
        ("@store(type='r', @cache(x='1')) define table T (a int);", ("needs a number",)),
    ],
)
def test_refused_definitions(text: str, parts: tuple[str, ...]) -> None:
    """One name space, windows, triggers, functions, keys of tables."""
    says(error_of_app(text), *parts)


def test_equal_definitions_may_coincide() -> None:
    """The same definition twice, and a trigger beside an equal stream."""
    app = check("define stream T (triggered_time long); define trigger T at every 1 sec;" + S + S)
    assert "T" in app.triggers
    assert app.schemas["T"].types == (AttributeType.LONG,)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("@app:async define stream S (a int);", ("@app:async is not allowed", "@async")),
        ("@app:playback(idle.time='1 sec') define stream S (a int);", ("both",)),
        ("@app:playback(increment='1 sec') define stream S (a int);", ("both",)),
        (
            "@app:playback(idle.time='x', increment='1 sec') define stream S (a int);",
            ("'x' is no duration",),
        ),
        ("@app:playback(speed='2') define stream S (a int);", ("knows no 'speed'",)),
        ("@app:name('a') @app:name('b') define stream S (a int);", ("stands twice",)),
        ("@app:name('') define stream S (a int);", ("is empty",)),
        ("@app:name('.') define stream S (a int);", ("cannot be '.'", "an address")),
        ("@app:name(' .. ') define stream S (a int);", ("cannot be '..'", "an address")),
        ("@app:compat('siddhi-3') define stream S (a int);", ("knows no 'siddhi-3'",)),
        ("@app:aggTimeZone('Mars') define stream S (a int);", ("no time zone", "Europe/Berlin")),
        ("@app:aggTimeZone('localtime') define stream S (a int);", ("no time zone", "or 'UTC'")),
        ("@app:aggTimeZone('right/UTC') define stream S (a int);", ("no time zone", "or 'UTC'")),
        ("@app:aggTimeZone define stream S (a int);", ("is empty",)),
        ("@app:shardId(' ') define stream S (a int);", ("is empty",)),
        ("@app:tasks('0') define stream S (a int);", ("not '0'", "from 1 to 128")),
        ("@app:tasks('00010000') define stream S (a int);", ("not '00010000'", "from 1 to 128")),
        ("@app:tasks('two') define stream S (a int);", ("not 'two'", "from 1 to 128")),
        ("@app:tasks define stream S (a int);", ("is empty",)),
        ("@app:tasks('1') @app:tasks('2') define stream S (a int);", ("stands twice",)),
        ("@app:ha(replicas='0') define stream S (a int);", ("positive",)),
        ("@app:ha(standby='cold') define stream S (a int);", ("hot and warm",)),
        (f"{S}@dist(parallel='many') from S insert into O;", ("positive number, not 'many'",)),
        ("@async define stream S (a int);", ("needs 'buffer.size'",)),
        ("@Async(workers='2') define stream S (a int);", ("needs 'buffer.size'",)),
        ("@async(buffer.size='8', workers='0') define stream S (a int);", ("positive",)),
        ("@async(buffer.size='x') define stream S (a int);", ("positive",)),
        ("@async(buffer.size='8', batch.size.max='-1') define stream S (a int);", ("positive",)),
        ("@OnError(action='SHOUT') define stream S (a int);", ("knows no action 'SHOUT'",)),
        ("@source(topic='x') define stream S (a int);", ("needs a 'type'",)),
        ("@sink(topic='x') define stream S (a int);", ("needs a 'type'",)),
        ("@sink(type='log', @map(x='y')) define stream S (a int);", ("@map needs a 'type'",)),
        (
            MAPPED.format("a='1'"),
            ("maps 1 of 2",),
        ),
        (
            MAPPED.format("'1'"),
            ("maps 1 of 2",),
        ),
        (
            MAPPED.format("a='1', '2'"),
            ("mixes",),
        ),
        (
            MAPPED.format("a='1', c='2'"),
            ("no attribute 'c'",),
        ),
        ("@sink(type='x', topic='{{b}}') define stream S (a int);", ("names no attribute",)),
        (
            "@sink(type='x', @map(type='text', @payload('{{b}}'))) define stream S (a int);",
            ("{{b}} names no attribute of 'S'",),
        ),
        ("@sink(type='x', on.error='STREAM') define stream S (a int);", ("needs a fault stream",)),
        ("@sink(type='x', on.error='NO') define stream S (a int);", ("knows no on.error",)),
        (
            "@sink(type='x', @distribution(strategy='random', @destination(a='b'))) "
            "define stream S (a int);",
            ("no extension exists for the distribution strategy",),
        ),
        (
            "@sink(type='x', @distribution(strategy='partitioned', @destination(a='b'))) "
            "define stream S (a int);",
            ("partitionKey",),
        ),
        (
            "@sink(type='x', @distribution(strategy='broadcast')) define stream S (a int);",
            ("no @destination",),
        ),
    ],
)
def test_refused_annotations(text: str, parts: tuple[str, ...]) -> None:
    """Annotations that cannot be carried out."""
    says(error_of_app(text), *parts)


def test_unknown_annotations_are_accepted() -> None:
    """They may stand everywhere and mean nothing; names are compared without case."""
    app = check(
        "@app:Playback @app:whatever('x') @note @a('b', @c(d='e')) define stream S (a int);"
        "@hello from S insert into O;"
    )
    assert app.is_playback
    assert set(app.annotations) == {"playback", "whatever"}


def test_names_of_apps() -> None:
    """Given, or the same for equal texts."""
    assert check("@app:name('Mine') define stream S (a int);").name == "Mine"
    unnamed = [
        check(text).name for text in (S, S.replace(" ", "  "), S.replace("l long", "x long"))
    ]
    assert unnamed[0] == unnamed[1] != unnamed[2]


# --- partitions ----------------------------------------------------------------------------------


def _partition(keys: str, queries: str) -> str:
    return f"{STREAMS}partition with ({keys}) begin {queries} end;"


def test_partitions() -> None:
    """Keys by stream, inner streams with their schemas, queries in order."""
    app = check(
        _partition(
            "s of S, i > 5 as 'big' or i <= 5 as 'small' of R",
            "from #x select n insert into Out; from S select s, i as n insert into #x;"
            "from R select s, i as n insert into #x;",
        )
    )
    partition = app.execution[0]
    assert isinstance(partition, CheckedPartition)
    assert set(partition.key_scopes) == {"S", "R"}
    assert partition.inner["#x"].names == ("s", "n")
    assert [query.name for query in partition.queries] == ["query_1", "query_2", "query_3"]
    assert "Out" in app.inferred
    assert "#x" not in app.schemas


@pytest.mark.parametrize(
    ("keys", "queries", "parts"),
    [
        ("x of S", "from S insert into O;", ("'x' is not an attribute of S",)),
        ("s of X", "from S insert into O;", ("'X' is not defined",)),
        ("s of T", "from S insert into O;", ("only streams and windows",)),
        ("o of S", "from S insert into O;", ("object cannot be a partition key",)),
        ("i as 'x' of S", "from S insert into O;", ("range must be a condition",)),
        ("s of S, i of S", "from S insert into O;", ("two keys",)),
        ("sum(i) of S", "from S insert into O;", ("cannot stand here",)),
        ("s of S", "from #y insert into O;", ("no query writes to '#y'",)),
        (
            "s of S",
            "from S select s insert into #y; from S select i insert into #y;",
            ("does not fit '#y'",),
        ),
        (
            "s of S",
            "from S select i insert into #y; end; from #y insert into O; partition with (s of R) "
            "begin from R insert into P;",
            ("outside of a partition",),
        ),
    ],
)
def test_refused_partitions(keys: str, queries: str, parts: tuple[str, ...]) -> None:
    """Keys and inner streams (grammar 11)."""
    says(error_of_app(_partition(keys, queries)), *parts)


@pytest.mark.parametrize(
    ("purge", "parts"),
    [
        ("enable='true'", ("needs 'idle.period'",)),
        ("idle.period='1 hour'", ("needs 'enable'",)),
        ("enable='yes', idle.period='1 hour'", ("'true' or 'false'",)),
        ("enable='true', idle.period='soon'", ("is no duration",)),
        ("enable='true', idle.period='1 hour', interval='1 x'", ("is no duration",)),
    ],
)
def test_refused_purges(purge: str, parts: tuple[str, ...]) -> None:
    """@purge of a partition (semantics 15)."""
    query = f"@purge({purge}) partition with (s of S) begin from S insert into O; end;"
    says(error_of_query(query), *parts)


# --- aggregations --------------------------------------------------------------------------------


def _aggregation(select: str, every: str = "sec ... year", notes: str = "") -> str:
    return f"{S}{notes} define aggregation A from S select {select} aggregate every {every};"


def test_aggregations() -> None:
    """The schema that readers see, and ranges spelled out."""
    select = "s, avg(i) as ai, avg(d) as ad, sum(i) as t, count() as n, i * 2 as x group by s"
    checked = check(_aggregation(select, "min ... days")).aggregations["A"]
    names = ("AGG_TIMESTAMP", "s", "ai", "ad", "t", "n", "x")
    assert checked.schema.names == names
    t = AttributeType
    assert checked.schema.types == (t.LONG, t.STRING, t.LONG, t.DOUBLE, t.LONG, t.LONG, t.INT)
    g = ast.Granularity
    assert checked.granularities == (g.MINUTES, g.HOURS, g.DAYS)
    listed = check(_aggregation("s", "year, sec, hour")).aggregations["A"]
    assert listed.granularities == (g.SECONDS, g.HOURS, g.YEARS)


@pytest.mark.parametrize(
    ("select", "every", "parts"),
    [
        ("stdDev(d) as x", "sec", ("cannot keep 'stdDev'", "avg, count")),
        ("sum(d * 2) as x", "sec", ("takes a plain attribute",)),
        ("sum(d) / count() as x", "sec", ("an aggregator stands alone",)),
        ("sum(s) as x", "sec", ("sum does not take (string)",)),
        ("x", "sec", ("'x' is not",)),
        ("s group by x", "sec", ("'x' is not",)),
        ("s, i as s", "sec", ("two output attributes",)),
        ("s", "weeks", ("cannot be kept by weeks",)),
        ("s", "sec ... weeks", ("cannot be kept by weeks",)),
        ("s", "year ... sec", ("is empty", "finer one first")),
        ("s having s == 'x'", "sec", ("found 'having'",)),
    ],
)
def test_refused_aggregations(select: str, every: str, parts: tuple[str, ...]) -> None:
    """Semantics 17.2 and grammar 6.6."""
    says(error_of_app(_aggregation(select, every)), *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            f"{S}define aggregation A from S select s aggregate by d every sec;",
            ("long or a string",),
        ),
        (f"{S}define aggregation A from X select s aggregate every sec;", ("'X' is not defined",)),
        (
            f"{S}define aggregation A from S#window.length(1) select s aggregate every sec;",
            ("takes no window",),
        ),
        (_aggregation("s", notes="@PartitionById"), ("needs a shard id", "@app:shardId")),
        (_aggregation("s", notes="@persistedAggregation(enable='true')"), ("folded here",)),
        (_aggregation("s", notes="@PrimaryKey('s')"), ("keys of their own",)),
        (_aggregation("s", notes="@purge(enable='maybe')"), ("'true' or 'false'",)),
        (
            _aggregation("s", notes="@purge(enable='true', @retentionPeriod(sec='10 sec'))"),
            ("too short", "at least 2 minutes"),
        ),
        (
            _aggregation("s", "hours", "@purge(enable='true', @retentionPeriod(sec='200 sec'))"),
            ("does not keep 'sec'",),
        ),
    ],
)
def test_refused_parts_of_aggregations(text: str, parts: tuple[str, ...]) -> None:
    """Input, time attribute and annotations."""
    says(error_of_app(text), *parts)
