"""The drawn log-ins that the security samples are measured with."""

from __future__ import annotations

from collections import Counter

from tests.e2e.security import Alert, Findings
from tests.e2e.security_traffic import DAY_MS, LEARNED_AFTER_DAYS, START_MS, Attack, drawn

TRAFFIC = drawn(5, people=20, days=21, each=4)


def test_a_seed_always_draws_the_same() -> None:
    """In order of time, and another seed draws something else."""
    again = drawn(5, people=20, days=21, each=4)
    assert (again.logins, again.actions, again.attacks) == (
        TRAFFIC.logins, TRAFFIC.actions, TRAFFIC.attacks
    )  # fmt: skip
    assert drawn(6, people=20, days=21, each=4).logins != TRAFFIC.logins
    for events in (TRAFFIC.logins, TRAFFIC.actions):
        assert [at for _, at, _ in events] == sorted(at for _, at, _ in events)


def test_attacks_of_each_kind_when_people_are_known() -> None:
    """As many as asked for, some of each hidden, from addresses that nobody else has."""
    assert set(Counter(one.kind for one in TRAFFIC.attacks).values()) == {4}
    for kind in {one.kind for one in TRAFFIC.attacks}:
        assert 1 <= sum(bool(one.hidden) for one in TRAFFIC.attacks if one.kind == kind) <= 2
    learned_ms = START_MS + LEARNED_AFTER_DAYS * DAY_MS
    assert all(one.start_ms > learned_ms for one in TRAFFIC.attacks)
    assert len({one.ip for one in TRAFFIC.attacks}) == len(TRAFFIC.attacks)


def test_findings_count_what_is_about_an_attack() -> None:
    """By address, or by victim and time; what is for information is neither right nor wrong."""
    attack = Attack("brute force", ("ann",), "9.9.9.9", 1_000, 2_000, "")
    other = Attack("brute force", ("bob",), "8.8.8.8", 1_000, 2_000, "slowly")
    alerts = [
        Alert(5_000, "a", "high", "ann", "1.1.1.1", ""),
        Alert(0, "a", "high", "eve", "1.1.1.1", ""),
        Alert(0, "a", "info", "eve", "8.8.8.8", ""),
    ]
    found = Findings([attack, other], alerts)
    assert (found.recall, found.precision) == (0.5, 0.5)
    assert "1 slowly" in found.table()[1]
