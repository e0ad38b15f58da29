"""The leadership protocol explored to the end: two replicas, three records, every interleaving.

`python -m tests.property.leadership_model` explores larger budgets of faults.
"""

from __future__ import annotations

import pytest

from tests.property.leadership_model import Broken, Budget, ViolationError, explore

BUDGETS = [
    Budget(),
    Budget(lease_ends=1),
    Budget(crashes=1, lost_answers=1),
    Budget(lost_answers=1, lease_outages=1),
    Budget(hand_overs=1),
    Budget(deaths=1),
    Budget(unready=1),
    Budget(unready=2),
]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_no_interleaving_loses_or_doubles_a_row(budget: Budget) -> None:
    """Each identity is published once, in order, and from everywhere the end can be reached."""
    found = explore(budget)
    assert found.worlds > 500
    assert found.stuck == []


def test_renewals_at_any_moment_change_nothing() -> None:
    """The exploration that leaves out renewals without news has left out nothing that matters."""
    assert explore(Budget(lost_answers=1), all_renewals=True).stuck == []


@pytest.mark.parametrize(
    "broken",
    [Broken(sequence_check=True), Broken(trimming=True), Broken(stepping_down=True)],
    ids=["no sequence check", "no trimming", "no stepping down"],
)
@pytest.mark.parametrize("budget", [Budget(lease_ends=1), Budget(deaths=1)], ids=str)
def test_the_checker_sees_a_broken_rule(broken: Broken, budget: Budget) -> None:
    """Each rule switched off on purpose is found out."""
    with pytest.raises(ViolationError):
        explore(budget, broken)
