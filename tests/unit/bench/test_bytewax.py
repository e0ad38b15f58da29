"""What is reckoned of what processes of Bytewax print."""

from __future__ import annotations

import pytest

from tests.bench.bytewax_flows.engine import free_ports, taken_of
from tests.bench.bytewax_flows.run import faster

pytestmark = pytest.mark.unit


def test_the_first_to_begin_and_the_last_to_end_count() -> None:
    """Their rows are added up, and what Bytewax prints before is nothing."""
    taken = taken_of(["worker 0: ready\n10.5 12.0 7\n", "10.0 11.5 5\n"])
    assert (taken.seconds, taken.rows) == (2.0, 12)


def test_the_faster_number_of_processes_is_taken() -> None:
    """By the seconds of the warm-up."""
    assert faster({1: 3.0, 2: 2.5}) == 2


def test_ports_of_processes_differ() -> None:
    """They are held until all are drawn."""
    assert len(set(free_ports(2))) == 2
