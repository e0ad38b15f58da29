"""Substitutions at the seams that break one invariant each on purpose: can the checkers see?

Product code knows nothing of them: each puts something else in the place of a part that the
simulation hands to the services, or of a name in one of their modules.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest import mock

from lockstep.bus import Accepted, Appended, OutputTail, Refused
from lockstep.bus.memory.carrier import StoredLog
from lockstep.events import ClaimRecord, OutputRecord, OutputRow, Position, UnavailableError
from lockstep.events.codec import EncodedEntry, decode_input
from lockstep.execute.contract import EventFault, SliceResult
from lockstep.execute.reference.writes import AppliedWrites, applied
from lockstep.execute.undoing import whole, without
from lockstep_services.processor.replica.standing import Standing
from lockstep_services.processor.state.envelope import Contents, seal
from lockstep_services.processor.state.outbox import Outbox
from tests.simulation.bus import SimInputLog, SimOutputLog
from tests.simulation.executor import SimExecutor
from tests.simulation.network import serving

Patch = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Break:
    """`seen_as`: the invariants of which at least one must be reported."""

    what: str
    seen_as: frozenset[str]
    patched: Patch = nullcontext
    executor: type[SimExecutor] | None = None
    of_fleets: bool = False


NOTHING: Final = Break("nothing is broken", frozenset())


async def _append_unchecked(
    self: SimOutputLog, record: OutputRecord | ClaimRecord, *, expected_sequence: int
) -> Accepted | Refused:
    async def append() -> Accepted | Refused:
        there = self._there
        outcome: Accepted | Refused = await there.append(
            record, expected_sequence=there._log.tail.sequence
        )
        return outcome

    outcome: Accepted | Refused = await self._bus.ask(append)
    return outcome


async def _tail_of_no_epoch(self: SimOutputLog) -> OutputTail:
    tail: OutputTail = await self._bus.ask(lambda: self._there.tail())
    return replace(tail, epoch=0)


async def _append_reversed(
    self: SimOutputLog, record: OutputRecord | ClaimRecord, *, expected_sequence: int
) -> Accepted | Refused:
    rows = getattr(record, "rows", ())
    parts: list[OutputRecord | ClaimRecord] = [
        OutputRecord(record.epoch, (row,)) for row in reversed(rows)
    ]

    async def append_all() -> Accepted | Refused:
        outcome: Accepted | Refused = Accepted(expected_sequence)
        for part in parts or [record]:
            if isinstance(outcome, Accepted):
                outcome = await self._there.append(part, expected_sequence=outcome.sequence)
        return outcome

    outcome: Accepted | Refused = await self._bus.ask(append_all)
    return outcome


async def _trim_everything(self: SimInputLog, up_to: Position) -> None:
    await self._bus.ask(lambda: self._there.trim(self._there._log.last))


_store = StoredLog.append


def _store_without_id(
    self: StoredLog, subject: str, payload: bytes, dedup_id: str | None = None
) -> Appended:
    return _store(self, subject, payload, None)


async def _append_and_hope(
    self: SimInputLog, payload: bytes, *, dedup_id: str | None = None
) -> Appended:
    bus = self._bus
    serve = serving(lambda: bus.carrier.log(self._subject).append(self._subject, payload, dedup_id))
    bus.network.send(bus.host, "bus", serve, lambda _: None, UnavailableError)
    return Appended(0)


class _LeakyOutbox(Outbox):
    """Holds back one slice and forgets the others."""

    def add(
        self, position: Position, rows: Sequence[OutputRow], faults: tuple[EventFault, ...] = ()
    ) -> None:
        super().add(position, rows if self.is_empty else (), faults)


class _ClockFollowsRecords(SimExecutor):
    """Its clock is what the last record says, be it earlier."""

    def run_encoded(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        if entries and self.engine.wall:
            self.engine.wall = min(self.engine.wall, decode_input(entries[0].payload).clock_ms)
        return super().run_encoded(entries)


class _DecidesAlone(SimExecutor):
    """Sets aside what its own worker dies of."""

    def run_encoded(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        result = super().run_encoded(entries)
        if result.unfoldable is None:
            return result
        ahead = [one for one in entries if one.position > result.position]
        rest, faults = without(ahead, (result.unfoldable,))
        following = self.run_encoded(rest)
        return whole([result, following], faults)


class _ForgetsState(SimExecutor):
    """Restores the position and nothing else."""

    def restore(self, snapshot: bytes | memoryview) -> None:
        super().restore(snapshot)
        position = self._position
        self._renew()
        self._position = position


def _seal_without_rows(contents: Contents) -> bytes:
    return seal(Contents(contents.text, contents.snapshot, (), contents.faults))


def _always(*_anything: object) -> bool:
    return True


def _never(*_anything: object) -> bool:
    return False


def _recorded(*_anything: object) -> Standing:
    return Standing.RECORDED


async def _present_state(
    _loop: object, _wanted: object, contents: Contents
) -> AsyncIterator[Contents]:
    yield contents


def _apply_again(self: AppliedWrites, record: Any, position: Position, engine: Any) -> Any:
    return applied(record, position, engine)


async def _keep(*_anything: object) -> int:
    return 0


def put(*there: tuple[str, Any]) -> Patch:
    """Something else under these names."""

    def patched() -> AbstractContextManager[Any]:
        stack = ExitStack()
        for name, other in there:
            stack.enter_context(mock.patch(name, other))
        return stack

    return patched


_APPEND: Final = "tests.simulation.bus.SimOutputLog.append"
_PROCESSOR: Final = "lockstep_services.processor"
_MAY_FOLLOW: Final = "lockstep.bus.memory.output_log.may_follow"

BREAKS: Final[dict[str, Break]] = {
    "fencing": Break(
        "the output log takes whatever anybody appends",
        frozenset({"identity", "order", "epoch"}),
        patched=put((_APPEND, _append_unchecked), (_MAY_FOLLOW, _always)),
    ),
    "epoch": Break(
        "every leader claims the same epoch",
        frozenset({"epoch"}),
        patched=put(
            ("tests.simulation.bus.SimOutputLog.tail", _tail_of_no_epoch), (_MAY_FOLLOW, _always)
        ),
    ),
    "generation": Break(
        "neither the output log nor who reads it looks at which state publishes",
        frozenset({"generation"}),
        patched=put(
            ("lockstep.bus.tails.may_begin", _always),
            (f"{_PROCESSOR}.replica.leading.standing", _recorded),
        ),
    ),
    "write": Break(
        "a repeated on-demand write is applied again",
        frozenset({"write"}),
        patched=put(("lockstep.execute.reference.writes.AppliedWrites.take", _apply_again)),
    ),
    "restore": Break(
        "a restore begins with the present state",
        frozenset({"fold", "other", "missing", "invented"}),
        patched=put((f"{_PROCESSOR}.revise.upgrading.UpgradeLoop._states", _present_state)),
    ),
    "purge": Break(
        "revisions and cursors outlive a purge",
        frozenset({"undeployed", "purge"}),
        patched=put(
            ("lockstep.store.memory.store.MemoryRevisions.delete", _keep),
            ("lockstep.store.memory.store.MemoryCursors.delete", _keep),
        ),
    ),
    "order": Break(
        "rows of a record are appended the wrong way round",
        frozenset({"order"}),
        patched=put((_APPEND, _append_reversed), (_MAY_FOLLOW, _always)),
    ),
    "holdback": Break(
        "a replica holds back one slice and forgets the others",
        frozenset({"missing"}),
        patched=put((f"{_PROCESSOR}.state.engine.Outbox", _LeakyOutbox)),
    ),
    "clock": Break(
        "the clock follows a record back",
        frozenset({"clock"}),
        executor=_ClockFollowsRecords,
    ),
    "memory": Break(
        "who has less memory leaves out what it dies of, by itself",
        frozenset({"fold", "missing", "other", "invented"}),
        executor=_DecidesAlone,
    ),
    "revision": Break(
        "a restore brings the position back and no state",
        frozenset({"revision"}),
        executor=_ForgetsState,
    ),
    "held": Break(
        "revisions are stored without what was held back",
        frozenset({"revision", "missing"}),
        patched=put((f"{_PROCESSOR}.revise.revisions.seal", _seal_without_rows)),
    ),
    "ack": Break(
        "the receiver hears 'durable' before the log has the record",
        frozenset({"input"}),
        patched=put(("tests.simulation.bus.SimInputLog.append_encoded", _append_and_hope)),
    ),
    "dedup": Break(
        "the log does not look at ids",
        frozenset({"input"}),
        patched=put(("lockstep.bus.memory.carrier.StoredLog.append", _store_without_id)),
    ),
    "again": Break(
        "a send that another receiver repeated counts twice",
        frozenset({"invented", "fold"}),
        patched=put(("lockstep.execute.sieve.SendMemory.is_repeated", _never)),
    ),
    "trim": Break(
        "the input log is cut at its end instead of the oldest revision",
        frozenset({"trim"}),
        patched=put(("tests.simulation.bus.SimInputLog.trim", _trim_everything)),
    ),
    "lease": Break(
        "whoever asks for a lease takes it from whoever holds it",
        frozenset({"lease"}),
        patched=put(("lockstep.leader.memory.leases.LeaseTable.may_replace", _always)),
    ),
    "cursor": Break(
        "the database moves a cursor from wherever it is",
        frozenset({"database"}),
        patched=put(("tests.simulation.database.Database.may_move", _always)),
    ),
}
