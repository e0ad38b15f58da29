"""Tokens of chains that end with an absence."""

from __future__ import annotations

from lockstep.columns.pool import StringPool
from lockstep.patterns.absences import kernel as absences
from lockstep.patterns.absences.tokens import AbsenceTokens


def test_nothing_waits_at_first() -> None:
    """No timer, no token, also with room for many."""
    tokens = AbsenceTokens(2, [], 1000, StringPool(), keyed=False)
    tokens.reserve(5000, 3)
    assert tokens.due_ms is None
    assert not tokens.alive.any()
    assert len(tokens.first) >= 5000


def test_who_waits_for_time_to_pass_knows_when_it_is_due() -> None:
    """Its wait counts from its last event, over a snapshot, too."""
    tokens = AbsenceTokens(2, [], 1000, StringPool(), keyed=False)
    token = tokens.add(1, 0, 500)
    tokens.stands(token, (0, -1, 1, 700, 0))
    tokens.loaded({0: [(1700, 4)]})
    assert (tokens.tokens[token, absences.DUE], tokens.due_ms) == (1700, 1700)
    assert tokens.standing(1, token) == (0, -1, 1, 700, 0)
    tokens.arrange()
    assert [due for due, _ in tokens.asked(0)] == [1700]
