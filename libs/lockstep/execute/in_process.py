"""An app folded as a Spark worker folds it, but in this process: for tests, and in bulk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lockstep.events import LogEntry, Position
from lockstep.events.codec import EncodedEntry
from lockstep.execute.columnar import ColumnarExecutor, NotColumnar, Suspected, Unfit
from lockstep.execute.contract import SliceResult
from lockstep.execute.encoding import encoded
from lockstep.execute.observe import Observation, Observe
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.operators.state import Bytes
from lockstep.plan import AppPlan

_Answer = TypeVar("_Answer")


class InProcessExecutor:
    """See execute.contract.Executor. It needs no JVM.

    Columns fold the app until a value comes, or something is asked, that has no columnar form. Then
    the reference takes over: from the last snapshot it folds again what came since. `base_bytes`:
    when so much has come, and twice the last snapshot, a snapshot is taken.
    """

    def __init__(
        self,
        plan: AppPlan,
        *,
        start_ms: int | None = None,
        observe: Observe = Observe.OUTSIDE_PARTITIONS,
        base_bytes: int | None = None,
    ) -> None:
        self._plan = plan
        self._start_ms = start_ms
        self._observe = observe
        self._base_bytes = base_bytes
        self._folded_bytes = 0
        self._base: Bytes | None = None
        self._folded: list[EncodedEntry] = []
        self._seen: list[Observation] = []
        self._executor = self._fresh()

    def _fresh(self) -> ColumnarExecutor | ReferenceExecutor:
        try:
            return ColumnarExecutor(self._plan, start_ms=self._start_ms, observe=self._observe)
        except NotColumnar:
            return self._reference()

    def _reference(self) -> ReferenceExecutor:
        return ReferenceExecutor(self._plan, start_ms=self._start_ms, observe=self._observe)

    @property
    def is_columnar(self) -> bool:
        """Whether at least one query runs in columns now."""
        return isinstance(self._executor, ColumnarExecutor)

    @property
    def position(self) -> Position:
        return self._executor.position

    def run_slice(self, entries: Sequence[LogEntry]) -> SliceResult:
        """Encodes and folds entries."""
        return self.run_encoded(encoded(entries, self._plan.checked.streams))

    def run_encoded(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        """Folds entries."""
        try:
            result = self._ask(lambda executor: executor.run_encoded(entries))
        except Suspected:
            return self._settled(entries)
        self._folded += entries
        self._bound(sum(entry.size_bytes for entry in entries))
        return result

    def _bound(self, more_bytes: int) -> None:
        if self._base_bytes is None:
            return
        self._folded_bytes += more_bytes
        if self._folded_bytes > max(self._base_bytes, 2 * len(self._base or b"")):
            self._base, self._folded, self._folded_bytes = self.snapshot(), [], 0

    def _settled(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        """The slice folded by the reference, which undoes what goes over a limit; columns go on
        from there."""
        reference = self._taken_over()
        result = reference.run_encoded(entries)
        self._seen += reference.take_observations() if self._observe else []
        self.restore(reference.snapshot())
        return result

    def on_demand(self, text: str) -> list[tuple[Any, ...]]:
        return self._ask(lambda executor: executor.on_demand(text))

    def snapshot(self) -> bytes:
        return self._ask(lambda executor: executor.snapshot())

    def restore(self, snapshot: Bytes) -> None:
        """See the contract."""
        if isinstance(self._executor, ColumnarExecutor):
            self._executor.take_observations()  # what it saw of a slice that is folded again
        else:
            self._executor = self._fresh()
        self._base, self._folded, self._folded_bytes = None, [], 0
        self._ask(lambda executor: executor.restore(snapshot))
        self._base = snapshot

    def enable_playback(self, on: bool, idle_ms: int | None, increment_ms: int | None) -> None:
        """Switches playback while the app runs, which the reference alone can."""
        if not isinstance(self._executor, ReferenceExecutor):
            self._executor = self._taken_over()
        self._executor.enable_playback(on, idle_ms, increment_ms)

    def take_observations(self) -> list[Observation]:
        taken, self._seen = self._seen + self._executor.take_observations(), []
        return taken

    def close(self) -> None:
        """Nothing to give back."""

    def _ask(self, question: Callable[[ColumnarExecutor | ReferenceExecutor], _Answer]) -> _Answer:
        try:
            return question(self._executor)
        except Suspected:
            raise
        except Unfit:
            self._executor = self._taken_over()
            return question(self._executor)

    def _taken_over(self) -> ReferenceExecutor:
        reference = self._reference()
        if self._base is not None:
            reference.restore(self._base)
        if self._folded:
            reference.run_encoded(self._folded)
        if self._observe:
            reference.take_observations()
        return reference
