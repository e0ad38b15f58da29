"""The count of the scenario `connectors`: what breaks a promise, and what does not."""

from __future__ import annotations

import pytest

from lockstep.siddhiql.catalogue import Delivery, ExtensionKind
from tests.e2e.connectors_counting import Line, total
from tests.e2e.connectors_transport import Arrivals, Transport

ALL: Arrivals = [("a", 0), ("b", 1), ("c", 2)]


def line(name: str, arrivals: Arrivals, *, aside: int = 1, given_up: int = 0) -> Line:
    """Of a sink that three numbers and one poison were sent to."""
    return Line(Transport(ExtensionKind.SINK, name, ""), 3, 1, arrivals, aside, given_up)


@pytest.mark.parametrize(
    ("name", "delivery"),
    [
        ("kafka", Delivery.EXACTLY_ONCE),
        ("http", Delivery.IDENTIFIED),
        ("prometheus", Delivery.AT_LEAST_ONCE),
        ("tcp", Delivery.AT_MOST_ONCE),
    ],
)
def test_each_promise_breaks_as_its_type_declares_it(name: str, delivery: Delivery) -> None:
    """Lost, once more under the same identity, once more under another one."""
    assert line(name, ALL).transport.delivery is delivery
    assert line(name, ALL).broken == []
    lost = line(name, ALL[:2])
    assert lost.lost == 1
    assert bool(lost.broken) == (delivery is not Delivery.AT_MOST_ONCE)
    again = line(name, [*ALL, ALL[1]])
    assert again.again == (delivery is Delivery.IDENTIFIED)
    assert bool(again.broken) == (delivery is Delivery.EXACTLY_ONCE)
    other = line(name, [*ALL, ("d", 1)])
    assert other.twice == 1
    assert bool(other.broken) == (delivery in (Delivery.EXACTLY_ONCE, Delivery.IDENTIFIED))


def test_poison_has_to_be_put_aside_and_nothing_else() -> None:
    """Where anybody can refuse it; what was given up is a broken promise."""
    assert line("http", ALL, aside=0).broken == ["0 of 1 unreadable ones put aside"]
    assert line("http", ALL, given_up=1).broken == ["given up 1"]
    deaf = Line(Transport(ExtensionKind.SINK, "tcp", "", refuses=False), 3, 1, ALL, 0)
    assert deaf.broken == []


def test_the_last_line_counts_what_no_promise_allows() -> None:
    """Losses of what may be lost are none, nor is what may come twice."""
    lines = [
        line("kafka", [*ALL[:2], ALL[0]]), line("tcp", ALL[:1]), line("prometheus", [*ALL, ALL[0]]),
        line("http", [*ALL, ALL[0]]),
    ]  # fmt: skip
    assert total(lines) == (1, 1)


def test_nothing_at_all_is_a_broken_promise() -> None:
    """Also where all may be lost."""
    assert line("tcp", []).broken == ["nothing arrived"]
