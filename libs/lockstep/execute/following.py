"""Results of runs that follow one another, as one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from lockstep.events.outputs import in_columns, joined
from lockstep.execute.contract import SliceResult


def joined_results(results: Sequence[SliceResult]) -> SliceResult:
    """The result of runs that follow one another."""
    last = results[-1]
    faults = tuple(chain.from_iterable(result.faults for result in results))
    writes = tuple(chain.from_iterable(result.writes for result in results))
    if any(each.places is not None for result in results for each in result.columns):
        # Rows of channels stay in columns, which bear their places.
        found = joined(in_columns(result.rows) for result in results)
        return SliceResult(
            last.position,
            found,
            faults,
            last.next_due_ms,
            found.columns,
            writes=writes,
            stopped=last.stopped,
            unfoldable=last.unfoldable,
            clock_ms=last.clock_ms,
        )
    rows = tuple(chain.from_iterable(result.rows for result in results))
    return SliceResult(
        last.position,
        rows,
        faults,
        last.next_due_ms,
        writes=writes,
        stopped=last.stopped,
        unfoldable=last.unfoldable,
        clock_ms=last.clock_ms,
    )
