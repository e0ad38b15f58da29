"""The aggregators one by one (semantics 6)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lockstep.aggregators.registry import aggregators
from lockstep.events import AttributeType
from lockstep.operators.errors import EventError
from lockstep.siddhiql.catalogue import Argument
from lockstep.testing import VirtualApp

ADD, REMOVE, RESET = "+", "-", "0"


def build(name: str, *arguments: Any) -> Any:
    """An aggregator by `ns:name`; types by name, anything else is a literal."""
    namespace, _, local = name.rpartition(":")
    described = [
        Argument(AttributeType(argument))
        if isinstance(argument, str) and argument in list(AttributeType)
        else Argument(AttributeType.STRING, is_constant=True, value=argument)
        for argument in arguments
    ]
    return aggregators()[namespace, local](described)


def run(aggregator: Any, steps: list[tuple[str, Any]]) -> list[Any]:
    """The value after each step."""
    values = []
    for what, value in steps:
        given = value if isinstance(value, tuple) else (value,)
        if what == ADD:
            aggregator.add(*given)
        elif what == REMOVE:
            aggregator.remove(*given)
        else:
            aggregator.reset()
        values.append(aggregator.value())
    return values


SLIDING = [(ADD, 4), (ADD, 2), (ADD, 6), (REMOVE, 4), (ADD, None), (REMOVE, 2), (ADD, 1)]
"""length(3) over 4 2 6 null 1, as far as the table of semantics 6 goes."""


@pytest.mark.parametrize(
    ("name", "type_", "expected"),
    [
        ("sum", "int", [4, 6, 12, 8, 8, 6, 7]),
        ("avg", "int", [4.0, 3.0, 4.0, 4.0, 4.0, 6.0, 3.5]),
        ("count", "int", [1, 2, 3, 2, 3, 2, 3]),
        ("distinctCount", "int", [1, 2, 3, 2, 3, 2, 3]),
        ("min", "int", [4, 2, 2, 2, 2, 6, 1]),
        ("max", "int", [4, 4, 6, 6, 6, 6, 6]),
        ("stdDev", "int", [0.0, 1.0, 1.632993161855452, 2.0, 2.0, 0.0, 2.5]),
        ("stdDev", "double", [0.0, 1.0, 1.632993161855452, 2.0, 2.0, 0.0, 2.5]),
        ("minForever", "int", [4, 2, 2, 2, 2, 2, 1]),
        ("maxForever", "int", [4, 4, 6, 6, 6, 6, 6]),
    ],
)
def test_the_table(name: str, type_: str, expected: list[Any]) -> None:
    """Column by column, with a null on its way."""
    found = run(build(name, type_), SLIDING)
    assert found == pytest.approx(expected)
    assert [type(value) for value in found] == [type(value) for value in expected]


@pytest.mark.parametrize(
    ("name", "types", "empty"),
    [
        ("sum", "int", None),
        ("sum", "double", None),
        ("avg", "double", None),
        ("stdDev", "double", None),
        ("min", "float", None),
        ("max", "long", None),
        ("count", "", 0),
        ("distinctCount", "string", 0),
        ("unionSet", "object", frozenset()),
        ("str:groupConcat", "string", ""),
        ("math:percentile", "double 50.0", None),
        ("list:collect", "object", []),
        ("map:merge", "object", {}),
        ("json:group", "string", "[]"),
    ],
)
def test_when_nothing_is_left(name: str, types: str, empty: Any) -> None:
    """After the last one has left, and after a reset."""
    arguments: list[Any] = [float(a) if a[:1].isdigit() else a for a in types.split()]
    value: Any = {
        "string": '{"a":1}',
        "object": {"a": 1} if name == "map:merge" else frozenset({1}),
    }.get(types, 5)
    given = (value, *arguments[1:]) if types else ()
    aggregator = build(name, *arguments)
    assert aggregator.value() == empty
    assert aggregator.is_empty()
    assert run(aggregator, [(ADD, given), (REMOVE, given)])[1] == empty
    assert aggregator.is_empty()
    assert run(aggregator, [(ADD, given), (RESET, None)])[1] == empty
    assert aggregator.is_empty()


def test_a_deviation_beyond_doubles_fails_of_nothing() -> None:
    """It is no number, or infinite, as in columns."""
    found = run(build("stdDev", "double"), [(ADD, 1e308), (ADD, -1e308), (ADD, 1.0)])
    assert found[0] == 0.0
    assert all(map(math.isnan, found[1:]))
    assert run(build("stdDev", "double"), [(ADD, 1e308), (ADD, 0.0)])[1] == math.inf


def test_sums_of_integers_wrap_at_64_bits_alone() -> None:
    """No overflow of ints; longs wrap, and unwrap again."""
    aggregator = build("sum", "long")
    values = run(aggregator, [(ADD, 2**31), (ADD, 2**63 - 1), (REMOVE, 2**31)])
    assert values == [2**31, -(2**63) + 2**31 - 1, 2**63 - 1]


def test_sums_of_floats_leave_nothing_behind() -> None:
    """What rounding left goes with the last value."""
    assert (
        run(build("sum", "double"), [(ADD, 0.1), (ADD, 0.2), (REMOVE, 0.1), (REMOVE, 0.2)])[-1]
        is None
    )
    aggregator = build("sum", "double")
    run(aggregator, [(ADD, math.inf), (REMOVE, math.inf), (ADD, 1.5)])
    assert aggregator.value() == 1.5


def test_forever_means_forever() -> None:
    """Neither leaving nor resets take the extreme back, and it is never forgotten."""
    for name, best in (("minForever", -7), ("maxForever", 9)):
        aggregator = build(name, "int")
        assert run(aggregator, [(ADD, 9), (ADD, -7), (REMOVE, best), (RESET, None)])[-1] == best
        assert not aggregator.is_empty()


def test_distinct_count_knows_null_nan_and_the_two_zeros() -> None:
    """Null is one value, every NaN the same one, -0.0 another than 0.0."""
    steps = [(ADD, v) for v in (None, None, math.nan, float("nan"), 0.0, -0.0)]
    assert run(build("distinctCount", "double"), steps) == [1, 1, 2, 2, 3, 4]


def test_and_or() -> None:
    """False when nothing is left; null is refused."""
    steps = [(ADD, True), (ADD, False), (REMOVE, False), (REMOVE, True)]
    assert run(build("and", "bool"), steps) == [True, False, True, False]
    assert run(build("or", "bool"), steps) == [True, True, True, False]
    with pytest.raises(EventError):
        build("and", "bool").add(None)


def test_union_set() -> None:
    """Members stay until their last set has left; the result is a set of its own."""
    aggregator = build("unionSet", "object")
    first = run(aggregator, [(ADD, frozenset({1, 2}))])[0]
    run(aggregator, [(ADD, frozenset({2, 3})), (REMOVE, frozenset({1, 2})), (ADD, None)])
    assert (first, aggregator.value()) == ({1, 2}, {2, 3})
    with pytest.raises(EventError):
        aggregator.add([1])


def test_extremes_ignore_nan_and_stay_small() -> None:
    """Coming and going below the top does not make the heap grow."""
    aggregator = build("min", "double")
    run(aggregator, [(ADD, 0.0), (ADD, math.nan), (REMOVE, math.nan)])
    for _ in range(1000):
        run(aggregator, [(ADD, 5.0), (REMOVE, 5.0)])
    assert aggregator.value() == 0.0
    assert len(aggregator._heap) < 100


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["b", "b,a", "b,b,a", "b,a"]),
        (("-",), ["b", "b-a", "b-b-a", "b-a"]),
        (("-", True), ["b", "b-a", "b-a", "b-a"]),
        (("-", False, "asc"), ["b", "a-b", "a-b-b", "a-b"]),
        (("-", True, "DESC"), ["b", "b-a", "b-a", "b-a"]),
    ],
)
def test_group_concat(options: tuple[Any, ...], expected: list[str]) -> None:
    """Equal keys stand together; expiry works in every form."""
    aggregator = build("str:groupConcat", "string", *options)
    steps = [(ADD, ("b", *options)), (ADD, ("a", *options)), (ADD, ("b", *options))]
    assert run(aggregator, [*steps, (REMOVE, ("b", *options))]) == expected


@pytest.mark.parametrize(
    ("percentile", "expected"),
    [(50.0, [2.0, 1.5, 2.0, 2.5]), (97.0, [2.0, 2.0, 3.0, 4.0]), (25.0, [2.0, 1.0, 1.0, 1.5])],
)
def test_percentile(percentile: float, expected: list[float]) -> None:
    """A whole rank gives the mean of two neighbours: of {1, 2} the 50th is 1.5."""
    aggregator = build("math:percentile", "int", percentile)
    assert run(aggregator, [(ADD, v) for v in (2, 1, 3, 4)]) == expected


def test_collections() -> None:
    """The oldest copy leaves first; keys go with their last holder; merged lists go whole."""
    steps = [(ADD, 1), (ADD, 2), (ADD, 1), (REMOVE, 1)]
    assert run(build("list:collect", "int"), steps)[-1] == [2, 1]
    distinct = [(ADD, (1, True)), (ADD, (1, True))]
    assert run(build("list:collect", "int", "bool"), distinct)[-1] == [1]
    merged = [(ADD, [1, 2]), (ADD, [2, 3]), (REMOVE, [1, 2])]
    assert run(build("list:merge", "object"), merged)[-1] == [3]
    held = [(ADD, ("k", 1)), (ADD, ("k", 2)), (REMOVE, ("k", 1)), (REMOVE, ("k", 2))]
    assert run(build("map:collect", "string", "int"), held)[2:] == [{"k": 2}, {}]


def test_results_are_collections_of_their_own() -> None:
    """An event that holds a result keeps it."""
    aggregator = build("list:collect", "int")
    first = run(aggregator, [(ADD, 1)])[0]
    run(aggregator, [(ADD, 2)])
    assert first == [1]


def test_json_groups() -> None:
    """Equal elements stand together; as text or object, enclosed on demand."""
    steps = [(ADD, '{"a":1}'), (ADD, '{"b":2}'), (ADD, '{"a":1}')]
    assert run(build("json:group", "string"), steps)[-1] == '[{"a":1},{"a":1},{"b":2}]'
    named = [(what, (json, "r", True)) for what, json in steps]
    aggregator = build("json:groupAsObject", "string", "string", "bool")
    assert run(aggregator, named)[-1] == {"r": [{"a": 1}, {"b": 2}]}


def test_without_a_window_an_extreme_keeps_itself_alone() -> None:
    """A running maximum over an endless stream does not grow; a restored one goes on."""
    text = "define stream S (v double); from S select max(v) as m, min(v) as n insert into O;"
    app = VirtualApp(text)
    for number in range(2000):
        app.send("S", [float(number % 701)])
    size = len(app.snapshot())
    restored = VirtualApp.restore(text, app.snapshot())
    restored.send("S", [-1.0])
    assert restored.stream("O")[-1].data == (700.0, -1.0)
    assert size < 2000


def test_the_sign_of_a_zero_that_came_again() -> None:
    """That of the one inside, not of one that has left; a restored replica shows the same."""
    text = "define stream S (d double); from S#window.length(3) select max(d) as m insert into O;"
    app, shown = VirtualApp(text), []
    for value in (0.0, 5.0, -3.0, -0.0, -3.0, -3.0):
        app.send("S", (value,))
        shown.append(repr(app.stream("O")[-1].data[0]))
    assert shown[-2:] == ["-0.0", "-0.0"]
