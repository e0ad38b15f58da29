"""On-demand queries that change tables, as records of the log: applied once, outcomes remembered.

A request id that was applied before gives its first outcome again, on every replica and after every
restart, so a client that got no answer can ask again (design invariants 2 and 6).
"""

from __future__ import annotations

from typing import Any

import msgspec

from lockstep.events import LockstepError, Position, WriteRecord, describe
from lockstep.events.typed import converted
from lockstep.execute.contract import WriteOutcome, WriteProblem
from lockstep.execute.reference import on_demand
from lockstep.execute.reference.engine import Engine
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.limits import LimitError
from lockstep.siddhiql import SiddhiQLError, check_on_demand


class AppliedWrites:
    """The outcomes of the last `ids_max` request ids; deterministic, part of the state."""

    def __init__(self, ids_max: int) -> None:
        self._ids_max = ids_max
        self._outcomes: dict[str, WriteOutcome] = {}

    def take(self, record: WriteRecord, position: Position, engine: Engine) -> WriteOutcome:
        """Applies the write, unless its request was applied before; what came of it."""
        known = self._outcomes.get(record.request_id)
        if known is not None:
            return known
        outcome = applied(record, position, engine)
        self._outcomes[record.request_id] = outcome
        if len(self._outcomes) > self._ids_max:
            del self._outcomes[next(iter(self._outcomes))]
        return outcome

    def snapshot(self) -> list[Any]:
        """The outcomes, oldest first."""
        plain: list[Any] = msgspec.to_builtins(list(self._outcomes.values()))
        return plain

    def restore(self, outcomes: list[Any]) -> None:
        known = converted(outcomes, list[WriteOutcome])
        self._outcomes = {outcome.request_id: outcome for outcome in known}


def applied(record: WriteRecord, position: Position, engine: Engine) -> WriteOutcome:
    """What came of a write: all of it, or a problem and nothing."""
    changed, problem = 0, None
    try:
        checked = check_on_demand(record.text, engine.plan.checked)
        changed = on_demand.write(checked, engine, place=f"write/{position}")
    except SiddhiQLError as error:
        problem = WriteProblem(error.message, error.hint, error.line, error.column)
    except LockstepError as error:
        problem = WriteProblem(error.message, error.hint)
    except (*PROCESSING_ERRORS, LimitError) as error:
        problem = WriteProblem(describe(error))
    return WriteOutcome(position, record.request_id, changed, problem)
