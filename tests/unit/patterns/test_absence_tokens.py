"""Tokens of chains that end with an absence: buckets, and timers that nobody waits for."""

from __future__ import annotations

import numpy as np

from lockstep.columns.pool import StringPool
from lockstep.patterns.absences import kernel as absences
from lockstep.patterns.absences.tokens import AbsenceTokens


def test_tokens_of_a_bucket() -> None:
    """Those of one state, key and value stand in it in the order in which they came."""
    tokens = np.zeros((4, absences.COLUMNS), np.int64)
    tokens[:, absences.STATE] = 1
    tokens[:, absences.REALM] = [0, 0, 5, 0]
    held = np.array([[8, 8, 8, 8]], np.int64)
    buckets = np.full((1024, 2), -1, np.int64)
    index = np.array([-1, 0], np.int64)
    absences.link_all(np.array([3, 0, 2, 1]), index, held, tokens, buckets)
    shared = tokens[[3, 0, 1], absences.BUCKET]
    assert len(set(shared.tolist())) == 1
    assert tokens[2, absences.BUCKET] != shared[0]
    assert buckets[shared[0]].tolist() == [3, 1]
    assert tokens[[3, 0, 1], absences.NEXT].tolist() == [0, 1, -1]
    assert tokens[[3, 0, 1], absences.BEFORE].tolist() == [-1, 3, 0]


def test_nothing_waits_at_first() -> None:
    """No timer, no token, also with room for many."""
    tokens = AbsenceTokens(2, [], 1000, StringPool(), keyed=False)
    tokens.reserve(5000, 3)
    assert tokens.due_ms is None
    assert not tokens.alive.any()
    assert len(tokens.first) >= 5000
