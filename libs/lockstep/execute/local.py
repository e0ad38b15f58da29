"""An app in execution in this process: in columns where its plan allows, else by the reference."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from lockstep.execute.contract import Executor, QueryWork
from lockstep.execute.observe import Observation, Observe
from lockstep.execute.reference.executor import DEDUP_IDS_MAX, ReferenceExecutor
from lockstep.operators.state import Sink
from lockstep.plan import AppPlan


class LocalExecutor(Executor, Protocol):
    """An executor in this process that can be observed."""

    def take_observations(self) -> list[Observation]:
        """What was observed since the last call, in order."""

    def take_work(self) -> QueryWork:
        """See TellsWork."""

    def write_snapshot(self, sink: Sink) -> None:
        """As `snapshot`, piece by piece, so that a large state is not there twice."""


def open_local(
    plan: AppPlan,
    *,
    start_ms: int | None = None,
    dedup_ids_max: int = DEDUP_IDS_MAX,
    observe: Observe = Observe.NOTHING,
    columnar: bool = True,
    shard: tuple[int, int] = (0, 1),
) -> LocalExecutor:
    """The quickest executor that folds this app exactly, for an owner that undoes what goes over a
    limit: it raises Suspected or Poisoned. `shard`: (which, of how many) of an app that splits."""
    if columnar:
        # Whoever asks for the reference alone does not wait for Numba and all kernels.
        from lockstep.execute.columnar import ColumnarExecutor, NotColumnar, Shard

        with suppress(NotColumnar):
            return ColumnarExecutor(
                plan,
                start_ms=start_ms,
                dedup_ids_max=dedup_ids_max,
                observe=observe,
                shard=Shard(*shard) if shard[1] > 1 else None,
            )
    return ReferenceExecutor(
        plan, start_ms=start_ms, dedup_ids_max=dedup_ids_max, observe=observe, undoes=False
    )
