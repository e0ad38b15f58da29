"""What parts of an app share, and who leads to whom."""

from __future__ import annotations

from lockstep.execute.columnar.sharing import (
    Together,
    components,
    definitions_of,
    touched,
)
from lockstep.plan import build
from lockstep.siddhiql import check


def test_components_stand_behind_those_that_lead_to_them() -> None:
    """A circle is one; where the graph leaves the choice the mapping decides."""
    graph = {"d": [], "c": ["d", "b"], "b": ["c"], "a": ["b"], "e": []}
    found = components(graph)
    assert sorted(map(sorted, found)) == [["a"], ["b", "c"], ["d"], ["e"]]
    place = {vertex: i for i, each in enumerate(found) for vertex in each}
    assert place["a"] < place["b"] == place["c"] < place["d"]
    assert components({}) == []


def test_a_long_chain_needs_no_deep_stack() -> None:
    """Apps may have thousands of queries in a row."""
    chain = {n: [n + 1] for n in range(5000)} | {5000: []}
    assert [vertex for (vertex,) in components(chain)] == list(range(5001))


def test_together() -> None:
    """Who is with one is with all."""
    together = Together()
    together.join(["a", "b"])
    together.join(["c", "d"])
    assert together.root("a") != together.root("c")
    together.join(["b", "d"])
    assert len({together.root(item) for item in "abcd"}) == 1
    assert together.root("e") == "e"


def test_what_a_query_touches() -> None:
    """Tables by name, in conditions, and in partitions; named windows; not triggers."""
    plan = build(
        check(
            """
            define stream S (s string, i int);
            define table T (s string); define table U (s string);
            define window W (s string) length(2); define trigger Beat at every 1 sec;
            from S[T.s == s in T] select s insert into W;
            from Beat select triggered_time insert into O;
            partition with (s of S) begin from S[not (U.s == s in U)] select s insert into P; end;
            """
        )
    )
    definitions = definitions_of(plan)
    assert definitions["Beat"] == "trigger/Beat"
    found = {node.path: touched(node, definitions) for node in plan.nodes}
    assert list(found.values()) == [["window/W", "table/T"], [], ["table/U"]]
    assert next(reversed(found)).startswith("partition/")
