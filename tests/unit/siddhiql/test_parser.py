"""The grammar's structures: precedence, clauses in order, kinds of texts, whole apps."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import SiddhiQLError, ast, parse, parse_on_demand
from lockstep.siddhiql.syntax.parser import MAX_TEXT_CHARACTERS
from tests.unit.siddhiql.refusals import error_of_text, says

S = "define stream S (a int);"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a * b / c % d", "((a * b) / c) % d"),
        ("not a == b", "(not a) == b"),
        ("not not a", "not (not a)"),
        ("1 < 2 == true", "(1 < 2) == true"),
        ("a < b + 1", "a < (b + 1)"),
        ("a or b and c", "a or (b and c)"),
        ("a and b or c and d", "(a and b) or (c and d)"),
        ("a == b in T", "(a == b) in T"),
        ("a and b in T", "a and (b in T)"),
        ("a is null and b", "(a is null) and b"),
        ("not a is null", "not (a is null)"),
        ("5 - -2", "5 - (-2)"),
        ("v-1", "v - 1"),
    ],
)
def test_precedence(text: str, same: str) -> None:
    """Grammar 13.1, strongest first: null test, not, * /, + -, < >, == !=, in, and, or."""
    assert parse(text, "expression") == parse(same, "expression")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("e1[0].v", ast.Variable("v", "e1", ast.EventIndex(0))),
        ("e1[last].v", ast.Variable("v", "e1", ast.EventIndex(0, True))),
        ("e1[last - 1].v", ast.Variable("v", "e1", ast.EventIndex(1, True))),
        ("#inner.a", ast.Variable("a", "#inner")),
        ("!S._error", ast.Variable("_error", "!S")),
        ("e1[2] is null", ast.IsNull(ast.EventReference("e1", ast.EventIndex(2)))),
        ("e1 is null", ast.IsNull(ast.Variable("e1"))),
        ("f() is null", ast.IsNull(ast.FunctionCall("f"))),
        ("str:length(*)", ast.FunctionCall("length", (), "str", True)),
    ],
)
def test_references(text: str, node: ast.Expression) -> None:
    """Attribute and event references in all their forms (grammar 14)."""
    assert parse(text, "expression") == node


def test_null_test_takes_no_parentheses() -> None:
    """`is null` stands behind attributes, calls and events only."""
    says(error_of_text("(a + b) is null", "expression"), "found 'is'")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("define stream S (a int);", "streamdefinition"),
        ("define table S (a int)", "table definition"),
        ("define window W (a int) length(1)", "WindowDefinition"),
        ("define trigger T at 'start'", "trigger_definition"),
        ("define function f[python] return int { }", "functiondefinition"),
        ("define aggregation A from S select a aggregate every sec", "aggregationdefinition"),
        ("from S insert into O;", "query"),
        ("partition with (a of S) begin from S insert into O; end", "partition"),
        ("from T select a", "storequery"),
        ("from T as t on a > 1 select a", "ondemandquery"),
        ("a + 1", "expression"),
        ("1 min", "time constant"),
        ("@info(name='q')", "annotation"),
        (S, "siddhiapp"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    """`parse` takes each kind of text by name; case, blanks and _ do not count."""
    assert parse(text, kind) is not None


def test_unknown_kinds_are_the_callers_mistake() -> None:
    """A kind that does not exist is a ValueError that lists those that do."""
    with pytest.raises(ValueError, match="known are") as caught:
        parse("x", "poem")
    assert not isinstance(caught.value, SiddhiQLError)


def test_clauses_of_a_query() -> None:
    """All clauses in their order."""
    query = parse(
        """@info(name='q') from S[a > 1]#f(a)#window.time(1 sec)#[b]
        select a, sum(a) as t group by a, b having t > 1 order by a desc, b asc limit 5 offset 2
        output last every 3 events insert expired events into O""",
        "query",
    )
    assert [type(h).__name__ for h in query.input.handlers] == [
        "Filter",
        "StreamFunction",
        "WindowHandler",
        "Filter",
    ]
    assert [item.descending for item in query.selector.order_by] == [True, False]
    assert query.rate == ast.OutputRate(ast.RateKind.LAST, every_events=3)
    assert query.action == ast.InsertInto("O", ast.EventSelection.EXPIRED)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("from S having a > 1 select a insert into O", ("found 'having'",)),
        ("from S group by a insert into O", ("found 'group'",)),
        ("from S select a limit 1 order by a insert into O", ("found 'order'",)),
        ("from S select *, a as b insert into O", ("found ','",)),
        ("from S select a + 1 insert into O", ("needs a name", "as name")),
        ("from S select a limit b insert into O", ("'limit' takes a number",)),
        ("from S as x insert into O", ("single stream", "joins only")),
        ("from S#window.length(1)#window.length(2) insert into O", ("one window",)),
        ("from S outer join R insert into O", ("needs a side",)),
        ("from S join R within 1 sec insert into O", ("needs 'per'",)),
        ("from S join R per 'hours' insert into O", ("needs 'within'",)),
        ("from S#window.length(1)[a] join R insert into O", ("follow the window",)),
        ("from S update T set a = 1", ("needs a condition",)),
        ("from S insert O", ("'into'", "found 'O'")),
        ("from S insrt into O", ("expected 'insert'", "found 'insrt'")),
        ("from S selct a insert into O", ("expected 'select'", "found 'selct'")),
        ("from S[a = 5] insert into O", ("==",)),
        ("@info(name=5) from S insert into O", ("always in quotes",)),
        ("@info(name=q) from S insert into O", ("expected a string", "found 'q'")),
        ("from S select distinct a insert into O", ("found 'a'",)),
        ("from S output every insert into O", ("found 'insert'",)),
        ("from S output snapshot every 5 events insert into O", ("found 'events'",)),
        ("", ("empty",)),
    ],
)
def test_refused_queries(text: str, parts: tuple[str, ...]) -> None:
    """What is no query, in words that say how it should be."""
    says(error_of_text(text, "query"), *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("from every every A -> B", ("inside 'every'",)),
        ("from every (A -> every B) -> C", ("inside 'every'",)),
        ("from A -> not B", ("needs a time",)),
        ("from not A -> B", ("needs a time",)),
        ("from e1=A or not B -> C", ("needs a time",)),
        ("from A+ -> B", ("for sequences only", "<1:>")),
        ("from A -> B?", ("for sequences only",)),
        ("from A#window.length(1) -> B", ("no windows",)),
        ("from A, every B", ("very beginning",)),
        ("from every (A, B)", ("no parentheses",)),
        ("from A -> B, C", ("found ','",)),
        ("from (A -> B), C", ("cannot be mixed",)),
        ("from e1=A<5:2> -> B", ("more than it allows",)),
        ("from A as a -> B", ("no 'as'", "e1=Stream")),
        ("from not A for 1 sec -> not B for 1 sec", ("one event must be present",)),
        ("from A and B and C", ("found 'and'",)),
        ("from A<2> and B", ("found 'and'",)),
    ],
)
def test_refused_patterns(text: str, parts: tuple[str, ...]) -> None:
    """Grammar 8.3 and 8.4, rule by rule."""
    says(error_of_text(f"{text} select a insert into O", "query"), *parts)


@pytest.mark.parametrize(
    ("text", "counts"),
    [("<2>", (2, 2)), ("<2:>", (2, None)), ("<:2>", (0, 2)), ("<2:5>", (2, 5)), ("<0:0>", (0, 0))],
)
def test_counts(text: str, counts: tuple[int, int | None]) -> None:
    """`<n>`, `<m:>`, `<:n>`, `<m:n>`."""
    query = parse(f"from e1=A{text} -> B select e1.a insert into O", "query")
    counted = query.input.element.elements[0]
    assert (counted.min, counted.max) == counts


def test_pattern_shapes() -> None:
    """`every` binds one element or a group; a single element in parentheses is itself."""
    query = "from {} select a insert into O"
    every_first = parse(query.format("every e1=A -> B"), "query").input.element
    assert isinstance(every_first.elements[0], ast.EveryState)
    every_group = parse(query.format("every (e1=A -> B)"), "query").input.element
    assert isinstance(every_group, ast.EveryState)
    assert isinstance(every_group.state, ast.ChainState)
    bare, grouped = (parse(query.format(t), "query").input for t in ("e1=A -> B", "(e1=A) -> (B)"))
    assert bare == grouped
    single = parse(query.format("every e1=A and e2=B"), "query").input
    assert isinstance(single.element.state, ast.LogicalState)
    assert not single.is_sequence
    assert parse(query.format("every e1=A, B"), "query").input.is_sequence


def test_a_stream_with_within_is_a_pattern() -> None:
    """`from S within t` can only be a pattern of one event."""
    state = parse("from S within 5 sec select a insert into O", "query").input
    assert state == ast.StateInput(ast.StreamState(ast.StreamInput("S")), False, 5000)


def test_joins() -> None:
    """Types, `unidirectional` on either side, aliases, conditions."""
    left = parse(
        "from A unidirectional left outer join B as b on A.x == b.x insert into O", "query"
    )
    assert left.input.trigger is ast.JoinTrigger.LEFT
    assert left.input.type is ast.JoinType.LEFT_OUTER
    assert left.input.right.alias == "b"
    right = parse("from A join B unidirectional within 1L, 2L per 'days' insert into O", "query")
    assert right.input.trigger is ast.JoinTrigger.RIGHT
    assert right.input.range.end is not None
    assert right.input.on is None


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("from S insert into O;", ("at least one definition",)),
        (f"{S} from S insert into O; define stream R (a int);", ("behind a query", "in front")),
        (f"{S} from S insert into O from S insert into P", ("';' is missing",)),
        ("define stream S (a int) define stream R (a int)", ("';' is missing",)),
        (f"{S};", ("found ';'",)),
        ("define stream #S (a int);", ("cannot be defined",)),
        ("define stream S ();", ("expected a name",)),
        ("define stream S (a int, a long);", ("two attributes",)),
        ("define stream S (a itn);", ("expected 'int'", "found 'itn'")),
        ("define stream S (a date);", ("a type",)),
        ("@x define trigger T at every 1 sec;", ("takes no annotations",)),
        ("@x define function f[python] return int {};", ("takes no annotations",)),
        ("define stream S (a int); ${x}", ("must be replaced",)),
    ],
)
def test_refused_apps(text: str, parts: tuple[str, ...]) -> None:
    """Order and separation of statements (grammar 4)."""
    says(error_of_text(text), *parts)


def test_long_texts_are_refused() -> None:
    """Beyond the limit nothing is parsed."""
    says(error_of_text(S + " " * MAX_TEXT_CHARACTERS), "longer than")


def test_deep_texts_are_refused() -> None:
    """Nesting has a limit, so that nothing behind the parser runs out of stack."""
    error = error_of_text(f"{'not ' * 300}a", "expression")
    says(error, "levels deep")


def test_errors_know_line_and_column() -> None:
    """Positions count from 1 and point at the token."""
    error = error_of_text("define stream S (a int);\n\n  from S\n  selekt a insert into O;")
    assert (error.line, error.column) == (4, 3)
    assert str(error).startswith("line 4:3: ")


def test_nodes_know_their_places() -> None:
    """Places stand in the tree but do not take part in equality."""
    query = parse("from S\n  select a +\n b as c insert into O", "query")
    expression = query.selector.attributes[0].expression
    assert (expression.at.line, expression.at.column) == (2, 10)
    assert (expression.right.at.line, expression.right.at.column) == (3, 2)
    assert query == parse("from S select a + b as c insert into O", "query")


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("from T on a > 1 select a group by a having a > 2 order by a limit 1", type(None)),
        ("from A within '2020-**-** **:**:**' per 'days' select a", type(None)),
        ("select 1 as a insert into T", ast.InsertInto),
        ("select 1 as a update or insert into T on T.a == a", ast.UpdateOrInsert),
        ("update T set T.a = 1 on T.a == 2", ast.UpdateTable),
        ("select 1 as a delete T on T.a == a", ast.DeleteFrom),
        ("delete T;", ast.DeleteFrom),
    ],
)
def test_on_demand_queries(text: str, action: type) -> None:
    """Grammar 12."""
    assert type(parse_on_demand(text).action) is action


def test_anonymous_streams_parse() -> None:
    """They are in the grammar; the checker refuses them."""
    query = parse("from (from S select a return) select a insert into O", "query")
    assert isinstance(query.input, ast.AnonymousInput)
