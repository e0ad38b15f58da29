"""The reference executor as the replicas run it, with what each of them folded on record."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Final
from unittest import mock

from lockstep.events import InputRecord, OutputRow, Position
from lockstep.events.codec import EncodedEntry, EventsHeader, decode_input
from lockstep.events.envelope import BundleHeader
from lockstep.execute.contract import SliceResult
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import AppPlan, plan_of
from lockstep.telemetry import Logger

planned = functools.cache(plan_of)
"""A text is read once per run of many seeds: reading it again would give the same."""

KEPT_RECORDS: Final = 4_096


@functools.lru_cache(KEPT_RECORDS)
def _decoded(payload: bytes) -> InputRecord:
    return decode_input(payload)


def decoded(entry: EncodedEntry) -> InputRecord:
    """A record of the input log: every replica and every checker folds it, and none changes it."""
    return _decoded(entry.payload)


@contextmanager
def reading_once() -> Iterator[None]:
    """Everybody who reads app texts or folds records finds what has been read before."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch("lockstep.plan.plans.plan_of", planned))
        stack.enter_context(mock.patch.object(EncodedEntry, "record", decoded))
        yield


@dataclass(frozen=True)
class Fold:
    """One slice as a replica folded it; `began`: behind which position the state did that this
    executor was given, or the empty one that it was made with. `first_ms`: the clock of its first
    record; it tells whose life's log was folded."""

    node: str
    text: str
    began: Position
    before: Position
    position: Position
    first_ms: int
    clock_before_ms: int
    clock_ms: int
    rows: tuple[OutputRow, ...]


@dataclass
class Folds:
    """All slices of all replicas."""

    folded: list[Fold] = field(default_factory=list)
    kind: type[SimExecutor] | None = None
    heavy: dict[Position, str] = field(default_factory=dict)
    """Positions whose events end the workers of some nodes, and how the names of those begin."""

    def ends(self, node: str, entry: EncodedEntry) -> bool:
        """Whether a worker of the node dies of the entry. What a unit of a fleet folds of a record
        is a bundle; where nothing of it is the unit's, time alone passes."""
        nodes, header = self.heavy.get(entry.position), entry.header
        has_events = isinstance(header, EventsHeader | BundleHeader) and header.events > 0
        return nodes is not None and node.startswith(nodes) and has_events

    def executor(self, node: str, text: str) -> SimExecutor:
        """An executor for a replica."""
        return (self.kind or SimExecutor)(self, node, text)


@dataclass
class NodeExecutors:
    """See `lockstep_services.processor.wiring.Executors`."""

    folds: Folds
    node: str

    def open(self) -> None:
        """Nothing is shared."""

    def make(self, plan: AppPlan, _log: Logger) -> SimExecutor:
        """An executor for a replica."""
        return self.folds.executor(self.node, plan.text)

    __call__ = make

    def close(self) -> None:
        """Nothing is shared."""


class SimExecutor(ReferenceExecutor):
    """Tells what it folds."""

    def __init__(self, folds: Folds, node: str, text: str) -> None:
        super().__init__(planned(text))
        self._folds = folds
        self._node = node
        self._text = text
        self._began: Position | None = None

    def run_encoded(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        """Folds, and tells. What folds nothing asks when a timer is due."""
        if not entries:
            return super().run_encoded(entries)
        # A state that was gone back to is of an earlier position than where it begins.
        before = entries[0].position - 1
        if self._began is None:
            self._began = before
        first_ms = entries[0].header.clock_ms
        clock_before_ms = self.engine.wall
        light = list(takewhile(lambda one: not self._folds.ends(self._node, one), entries))
        result = super().run_encoded(light)
        if len(light) < len(entries):
            result = replace(result, unfoldable=entries[len(light)].position)
        fold = Fold(
            self._node, self._text, self._began, before, result.position, first_ms,
            clock_before_ms, self.engine.wall, tuple(result.rows),
        )  # fmt: skip
        self._folds.folded.append(fold)
        return result

    def restore(self, snapshot: bytes | memoryview) -> Any:
        """As it is."""
        self._began = None
        return super().restore(snapshot)
