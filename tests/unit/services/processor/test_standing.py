"""What the output log says about a state."""

import pytest

from lockstep.bus import OutputTail
from lockstep.bus.tails import may_begin
from lockstep.events import Generation, Life, OutputId
from lockstep_services.processor.replica.standing import Standing, standing, why_overtaken

LAST = OutputId(7, 0)
TAIL = OutputTail(9, 3, LAST, Generation(Life(100, 2), 5))


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (Generation(Life(100, 2), 5), Standing.RECORDED),
        (Generation(Life(100, 1), 0), Standing.OVERTAKEN),
        (Generation(Life(50, 9), 9), Standing.OVERTAKEN),
        (Generation(Life(100, 2), 6), Standing.OVERTAKEN),
        (Generation(Life(100, 2), 4), Standing.OVERTAKEN),
        (Generation(Life(100, 3), 7), Standing.NEW),
        (Generation(Life(100, 3), 6), Standing.OVERTAKEN),
        (Generation(Life(200, 1), 7), Standing.NEW),
    ],
)
def test_a_state_is_the_logs_or_follows_it_or_is_of_no_use(
    own: Generation, expected: Standing
) -> None:
    """And the log takes a claim for exactly those that are of use."""
    assert standing(own, TAIL) is expected
    assert may_begin(TAIL, own) is (expected is not Standing.OVERTAKEN)


def test_a_log_of_an_earlier_release_says_nothing() -> None:
    """Then everything is as if recorded."""
    tail = OutputTail(9, 3, LAST)
    assert standing(Generation(Life(1, 1), 1), tail) is Standing.RECORDED
    assert may_begin(tail, Generation(Life(1, 1), 1))


def test_what_people_read_of_it() -> None:
    """Which state goes on, and which one is here; no words of the program's inside."""
    own, there = Generation(Life(1_000, 1), 0), Generation(Life(1_000, 2), 7)
    assert why_overtaken(own, OutputTail(9, 1, OutputId(7, 0), there)) == (
        "the output log goes on with generation 2 of 1000 (from position 7 on), "
        "this replica has generation 1 of 1000 (from position 0 on)"
    )
    late = Generation(Life(1_000, 3), 5)
    assert why_overtaken(late, OutputTail(9, 1, OutputId(7, 0), there)) == (
        "the output log has rows behind the beginning of generation 3 of 1000 (from position 5 on) "
        "already"
    )
