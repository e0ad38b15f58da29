"""Plans: what is read, written, exported, stored and grouped; rewrites that change nothing else."""

from __future__ import annotations

import pytest

from lockstep.plan import AppPlan, PartitionNode, QueryNode, build, explain_plan
from lockstep.plan.rules.constant_folding import fold
from lockstep.siddhiql import ast, check, parse
from lockstep.siddhiql.checked import CheckedStream

S = "define stream S (s string, v int);"


def plan_of(text: str) -> AppPlan:
    """The plan of an app text."""
    return build(check(text))


def test_nodes_know_what_they_read_and_write() -> None:
    """Joins and patterns in order of subscription, each name once."""
    plan = plan_of(
        S + "define stream R (s string, v int);"
        "@info(name='j') from S#window.length(1) join R#window.length(1) on S.s == R.s"
        " select S.v insert into J;"
        "@info(name='p') from every e1=R -> e2=S -> e3=R select e1.v insert into P;"
    )
    assert [
        (node.name, node.reads, node.writes) for node in plan.nodes if isinstance(node, QueryNode)
    ] == [("j", ("S", "R"), "J"), ("p", ("R", "S"), "P")]


def test_partitions_read_outer_streams() -> None:
    """Inner streams are nobody else's."""
    plan = plan_of(
        S + "partition with (s of S) begin from S select s insert into #A;"
        "from #A select s insert into O; end;"
    )
    (node,) = plan.nodes
    assert isinstance(node, PartitionNode)
    assert (node.reads, node.writes) == (("S",), ("O",))


@pytest.mark.parametrize(
    ("text", "exported"),
    [
        ("from S select s insert into O;", ("O",)),
        ("from S select s insert into M; from M select s insert into O;", ("O",)),
        ("from S select s, v insert into Q;", ("Q", "K")),
        ("from S select s insert into O; from S select s insert into P;", ("O", "P")),
        ("from S select s insert into C; from C select s insert into O;", ("C", "O")),
    ],
)
def test_exported_streams(text: str, exported: tuple[str, ...]) -> None:
    """What some query writes and none reads, whatever has a sink, and channels."""
    definitions = S + "define stream Q (s string, v int);"
    if exported[0] == "C":
        definitions += "@channel define stream C (s string);"
    if exported[-1] == "K":
        definitions += "@sink(type='log') define stream K (s string);"
    plan = plan_of(definitions + text)
    assert set(exported) == set(plan.exported)
    assert plan.channels == tuple(name for name in exported if name == "C")


def test_a_stream_with_a_sink_is_exported_though_it_is_read() -> None:
    """Sinks are readers of their own."""
    plan = plan_of(
        S + "@sink(type='log') define stream M (s string);"
        "from S select s insert into M; from M select s insert into O;"
    )
    assert {"M", "O"} == set(plan.exported)


def test_stored_tables() -> None:
    """Tables with a store leave as changes; others stay inside."""
    plan = plan_of(
        S + "define table T (s string); @store(type='rdbms') define table U (s string);"
        "from S select s insert into T; from S select s insert into U;"
    )
    assert plan.stored == ("U",)


def test_groups() -> None:
    """@dist names groups; the rest is main."""
    plan = plan_of(
        S + "@dist(execGroup='fast', parallel='3') from S select s insert into O;"
        "from S select v insert into P;"
    )
    assert {group.name: group.parallel for group in plan.groups} == {"main": 1, "fast": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * 3 + 1", 7),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("7 / 2.0", 3.5),
        ("2147483647 + 1", -(2**31)),
        ("9223372036854775807L + 1", -(2**63)),
        ("16777217L + 0.0f", 16777216.0),
        ("1 sec * 2", 2000),
    ],
)
def test_constants_fold(text: str, value: float) -> None:
    """Once, with Java's arithmetic."""
    folded = fold(parse(text, "expression"))
    assert isinstance(folded, ast.Constant)
    assert value == folded.value


@pytest.mark.parametrize("text", ["v + 1", "1 / 0", "5 % 0", "f(1 + 2)"])
def test_what_does_not_fold(text: str) -> None:
    """Attributes, divisions by zero (null has no literal), arguments of functions."""
    expression = parse(text, "expression")
    assert fold(expression) is expression


def test_adjacent_filters_merge() -> None:
    """Filters next to each other become one; those with calls stay where they are."""
    plan = plan_of(S + "from S[v > 1][v < 1 + 4]#window.length(2)[v > 2] select s insert into O;")
    (node,) = plan.nodes
    assert isinstance(node, QueryNode)
    assert isinstance(node.query.input, CheckedStream)
    assert len(node.query.input.handlers) == 3
    assert plan.applied == ("fold constants", "merge adjacent filters")
    kept = plan_of(S + "from S[v > 1][sum(v) > 9] select s insert into O;")
    assert kept.applied == ()


def test_explained() -> None:
    """One line per node, inner queries indented, exports and rules at the end."""
    text = explain_plan(
        plan_of(
            "@app:name('Shop')" + S + "@info(name='q') from S[v > 1 + 1]#window.time(1 sec)"
            " select s, sum(v) as t group by s output last every 5 events insert into O;"
            "partition with (s of S) begin @info(name='i') from every e1=S -> e2=S"
            " select e1.v insert into P; end;"
        )
    )
    assert text.splitlines()[0].startswith("app Shop: 2 nodes")
    assert "  q: S -> filter -> window time -> aggregate by s -> rate last -> O" in text
    assert "    i: S -> pattern -> project -> P" in text
    assert "  exports: O, P" in text
    assert "  rewritten by: fold constants" in text
