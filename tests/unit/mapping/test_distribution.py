"""Distributed sinks and dynamic options (semantics 22)."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.mapping import Template, build_distribution, destinations, grouped
from lockstep.siddhiql import SiddhiQLError, ast
from tests.unit.mapping.mappers import NARROW, events


def sink_annotation(strategy: str, count: int, **options: str) -> ast.Annotation:
    """A `@sink` with that many destinations."""
    places = tuple(
        ast.Annotation("destination", (ast.Element("publisher.url", f"http://h{at}/in"),))
        for at in range(count)
    )
    elements = [ast.Element("strategy", strategy)]
    elements += [ast.Element(key, value) for key, value in options.items()]
    distribution = ast.Annotation("distribution", tuple(elements), places)
    mapping = ast.Annotation("map", (ast.Element("type", "json"),))
    common = (ast.Element("type", "http"), ast.Element("publisher.url", "http://common"))
    return ast.Annotation("sink", common, (mapping, distribution))


def routed(distribution: Any, keys: str, active: list[bool]) -> list[tuple[int | None, str]]:
    """(destination, keys) of one publish call."""
    parcels = distribution.route(events(*((key, 1, 1.0) for key in keys)), active)
    return [(at, "".join(event.data[0] for event in part)) for at, part in parcels]


def test_round_robin_takes_turns_call_by_call() -> None:
    """A whole call goes to one destination; those that are down are skipped."""
    turns = build_distribution(NARROW, sink_annotation("roundRobin", 3))
    up = [True, True, True]
    assert [routed(turns, "ab", up)[0][0] for _ in range(4)] == [0, 1, 2, 0]
    assert routed(turns, "a", [True, False, True]) == [(2, "a")]
    assert routed(turns, "a", [False] * 3) == [(None, "a")]


def test_partitioned_goes_by_javas_hash() -> None:
    """'a' (97) of two goes to 1, 'b' (98) to 0; what is down loses its events."""
    parts = build_distribution(NARROW, sink_annotation("partitioned", 2, partitionKey="a"))
    assert routed(parts, "abab", [True, True]) == [(1, "aa"), (0, "bb")]
    assert routed(parts, "ab", [True, False]) == [(None, "a"), (0, "b")]


def test_broadcast_reaches_everyone() -> None:
    """Everyone that is up."""
    everyone = build_distribution(NARROW, sink_annotation("broadcast", 3))
    assert routed(everyone, "ab", [True, False, True]) == [(0, "ab"), (2, "ab")]
    assert routed(everyone, "a", [False] * 3) == [(None, "a")]


def test_destinations_have_the_common_options_under_their_own() -> None:
    """The map stays, the distribution goes."""
    merged = destinations(sink_annotation("broadcast", 2))
    assert [place.get("publisher.url") for place in merged] == ["http://h0/in", "http://h1/in"]
    assert [place.get("type") for place in merged] == ["http", "http"]
    assert [one.name for one in merged[0].annotations] == ["map"]
    plain = ast.Annotation("sink", (ast.Element("type", "log"),))
    assert destinations(plain) == [plain]


@pytest.mark.parametrize(
    ("strategy", "options"),
    [("random", {}), ("partitioned", {}), ("partitioned", {"partitionKey": "z"})],
)
def test_wrong_distributions_are_refused(strategy: str, options: dict[str, str]) -> None:
    """Unknown strategies, keys that are no attributes."""
    with pytest.raises(SiddhiQLError):
        build_distribution(NARROW, sink_annotation(strategy, 2, **options))


def test_dynamic_options_group_a_chunk() -> None:
    """One message per distinct value, in order of first appearance."""
    at = ast.Annotation("sink")
    topic = Template("t/{{a}}", NARROW, at)
    method = Template("POST", NARROW, at)
    sent = events(("x", 1, 1.0), ("y", 2, 1.0), ("x", 3, 1.0))
    groups = grouped([topic, method], sent)
    assert [(key, [event.data[1] for event in part]) for key, part in groups] == [
        (("t/x", "POST"), [1, 3]),
        (("t/y", "POST"), [2]),
    ]
    assert grouped([method], sent) == [(("POST",), sent)]
