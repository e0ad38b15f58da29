"""NEXMark's queries in columns: their answers are DuckDB's on the same events."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from lockstep.events.codec import EncodedEntry
from lockstep.execute.local import open_local
from lockstep.plan import plan_of
from tests.bench.nexmark.generator import rounds
from tests.bench.nexmark.run import Judge, Query, answer_of, folded, queries, slices_of

ROUNDS = 45
ROUND_MS = 500
"""Two batches of ten seconds, and two seconds of a third."""


@cache
def auction_house() -> tuple[Judge, Sequence[Sequence[EncodedEntry]]]:
    """The events, as DuckDB and as an input log has them."""
    found = list(rounds(ROUNDS, round_ms=ROUND_MS))
    return Judge(found), slices_of(found, 10)


@pytest.mark.parametrize("query", queries(), ids=lambda query: query.name)
def test_the_answer_is_that_of_sql(query: Query) -> None:
    """Every row, as often; and there are some."""
    judge, log = auction_house()
    executor = open_local(plan_of(query.text))
    try:
        parts = list(folded(executor, log))
        _, wanted = judge.seconds_and_rows(query)
        assert len(wanted)
        answer = answer_of(query, executor, parts, wanted)
        assert judge.differences(query, wanted, answer) == 0
    finally:
        executor.close()
