"""An executor that tells all that it does."""

from __future__ import annotations

from typing import Protocol

from lockstep.execute.contract import Executor
from lockstep.execute.observe import Observation


class ObservedExecutor(Executor, Protocol):
    """An executor that also tells every chunk of every stream and query."""

    def take_observations(self) -> list[Observation]:
        """What was observed since the last call, in order."""
