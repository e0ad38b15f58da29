"""What runs inside a Spark Python worker: it holds app states between slices and folds slices.

A slot's worker holds the states of its app instances in memory between jobs, so a slice costs
O(slice). State is only ever a cache: an answer is given for the position the driver asks for, and
when the state held is at another one (a new worker, a task that ran twice) the driver sends the
base and the worker folds up to it again.
"""

from __future__ import annotations

import ctypes
import json
import resource
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from lockstep.events import LockstepError, describe
from lockstep.events.codec import EncodedEntry
from lockstep.execute.columnar import ColumnarExecutor, Suspected, Unfit
from lockstep.execute.contract import SliceResult
from lockstep.execute.local import LocalExecutor, open_local
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.rehearsal import rehearse
from lockstep.execute.spark import blocks, garbage, wire
from lockstep.execute.spark.location import here
from lockstep.execute.undoing import Poisoned
from lockstep.functions.geo import addresses
from lockstep.functions.guarding import FAILURES
from lockstep.operators import limits, state
from lockstep.operators.errors import EventError, SnapshotError
from lockstep.plan import Plans
from lockstep.siddhiql import SiddhiQLError
from lockstep.telemetry import configure_logging, get_logger, is_logging_configured

_log = get_logger(part="worker")


@dataclass(slots=True)
class Held:
    """An app state in this worker; `incarnation` changes when the driver restored another state.

    `answered` keeps the memory of answers until the driver has looked at them.
    """

    executor: LocalExecutor
    incarnation: int
    answered: blocks.Holder = field(default_factory=blocks.Holder)


_held: dict[str, Held] = {}
_readers: dict[str, blocks.Reader] = {}
"""Of each instance's requests."""
_dropped: list[str] = []
"""Whose states are gone, but maybe not from memory yet."""
_plans = Plans()
HELD_INSTANCES_MAX = 4_096
KEPT_PER_DROPPED: Final = 8
"""States that are gone leave the memory when there is one for so many that are kept: looking for
them walks through all."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGEST_KEPT_BYTES = 1 << 28


def serve(payloads: Iterable[bytes]) -> Iterator[bytes]:
    """The function that Spark maps over a partition: one request in, one answer out."""
    _keep_memory()
    if not is_logging_configured():
        # Its own form shows the values of all variables: events, in the log, and for minutes where
        # they are nested deep, while neighbours wait.
        configure_logging(service="lockstep", level="warning")
    for payload in payloads:
        request = wire.decode_request(payload)
        given = answer(request)
        # Now that the request is done, nobody looks at it but what the state took of it.
        reader = _readers.get(request.instance)
        yield wire.encode(given, freed=[] if reader is None else reader.freed())
    is_full = bool(_dropped) and len(_dropped) * KEPT_PER_DROPPED >= len(_held)
    garbage.settle(is_full=is_full)
    if is_full:
        _dropped.clear()


def answer(request: wire.Request) -> wire.Answer:
    """Does what the request asks, on the state at exactly the request's position."""
    limits.put_in_force(request.app.limits)
    addresses.put_in_force(request.app.places)
    _limit_memory(request.app.memory_max_bytes)
    for instance in request.gone:
        _forget(instance)
    reader = _readers.setdefault(request.instance, blocks.Reader())
    parts = reader.get(request.block)
    try:
        held = _state_for(request, parts)
        if held is None:
            return wire.Answer("need_base", wire.EMPTY, here())
        return _answered(request, held, parts)
    except Poisoned as found:
        _forget(request.instance)
        return wire.Answer(
            "poisoned",
            wire.EMPTY,
            here(),
            position=found.position,
            poisoned=found.chunk,
            message=found.reason,
        )
    except MemoryError:
        _forget(request.instance)
        return wire.Answer("exhausted", wire.EMPTY, here())
    except Suspected as why:
        _forget(request.instance)
        return wire.Answer("suspected", wire.EMPTY, here(), message=str(why))
    except Unfit as why:
        _forget(request.instance)
        return wire.Answer("unfit", wire.EMPTY, here(), message=str(why))
    except (SiddhiQLError, SnapshotError, EventError) as error:
        return _refused(error)
    except OSError:  # of memory to share, or of the way to Spark: tried again
        raise
    except FAILURES as error:
        # Spark would run the task again, four times, and end a worker each time: with the states of
        # neighbours that are in it, and to no other end.
        _log.exception("a request fails", operation=request.operation, instance=request.instance)
        _forget(request.instance)
        return _refused(
            EventError(
                f"{request.operation} fails: {describe(error)}",
                hint="a mistake in Lockstep, or in code that the app brings: the worker's log has"
                " where",
            )
        )


def _answered(request: wire.Request, held: Held, parts: Sequence[Any]) -> wire.Answer:
    executor = held.executor
    match request.operation:
        case "open" if request.app.rehearsed:
            rehearse(_plans.of(request.app.text), columnar=request.app.columnar)
        case "slice":
            return _slice(request, held, parts)
        case "snapshot":
            return _done(request, held, snapshot=executor.write_snapshot)
        case "query":
            rows = executor.on_demand(request.text or "")
            return _done(request, held, data=state.encode(rows))
        case "playback":
            _switch_playback(request, held)
            held.incarnation = request.becomes
            return _done(request, held, snapshot=executor.write_snapshot)
    return _done(request, held)


def _state_for(request: wire.Request, parts: Sequence[Any]) -> Held | None:
    held = _held.get(request.instance)
    if held is not None:
        fits = held.incarnation == request.incarnation
        if fits and held.executor.position == request.position:
            return held
    if request.base is None:
        return None
    executor = _rebuilt(request, request.base, parts)
    if held is not None:
        _drop(request.instance, held)
    while len(_held) >= HELD_INSTANCES_MAX:
        _forget(next(iter(_held)))
    held = _held[request.instance] = Held(executor, request.incarnation)
    return held


def _forget(instance: str) -> None:
    _readers.pop(instance, None)
    held = _held.pop(instance, None)
    if held is not None:
        _drop(instance, held)


def _drop(instance: str, held: Held) -> None:
    """The driver has looked at all answers, or does not wait for them any more."""
    held.answered.close()
    _dropped.append(instance)


def _rebuilt(request: wire.Request, base: wire.Base, parts: Sequence[Any]) -> LocalExecutor:
    app = request.app
    executor = open_local(
        _plans.of(app.text),
        start_ms=app.start_ms,
        dedup_ids_max=app.dedup_ids_max,
        observe=app.observe,
        columnar=app.columnar,
        shard=(request.shard, request.shards),
    )
    if base.has_snapshot:
        executor.restore(parts[0])
        parts = parts[1:]
    for position, payload in zip(base.positions, parts, strict=False):
        executor.run_encoded([EncodedEntry(position, payload)])
    executor.take_observations()
    executor.take_work()
    return executor


def _slice(request: wire.Request, held: Held, parts: Sequence[Any]) -> wire.Answer:
    executor = held.executor
    if request.together is not None:
        assert isinstance(executor, ColumnarExecutor), "the driver knows who takes them"
        result = executor.run_encoded(wire.decode_together(request.together, parts))
        return _done(request, held, result=result)
    payloads = parts[len(parts) - len(request.positions) :]
    entries = [EncodedEntry(*each) for each in zip(request.positions, payloads, strict=True)]
    result = executor.run_encoded(entries)
    return _done(request, held, result=result)


def _done(
    request: wire.Request,
    held: Held,
    *,
    result: SliceResult | None = None,
    data: bytes = b"",
    snapshot: bytes | blocks.Writing = b"",
) -> wire.Answer:
    executor = held.executor
    held.answered.take_back(request.freed)
    columns = () if result is None else result.columns
    rows = b"" if result is None or columns else wire.encode_rows(result.rows)
    observations = wire.encode_observations(executor.take_observations())
    parts: list[Any] = [rows, observations, data, snapshot, *map(wire.encode_columns, columns)]
    exported = executor.exported if isinstance(executor, ColumnarExecutor) else []
    if request.shards > 1 and columns:
        parts += [wire.encode_places(each) for each in exported]
    return wire.Answer(
        "done",
        held.answered.put(parts, shared=request.shares_memory),
        here(),
        position=executor.position,
        next_due_ms=None if result is None else result.next_due_ms,
        clock_ms=None if result is None else result.clock_ms,
        faults=[] if result is None else wire.encode_faults(result.faults),
        writes=[] if result is None else list(result.writes),
        columns=[wire.ColumnsHead(each.stream) for each in columns],
        places=[wire.head_of(each) for each in exported] if request.shards > 1 else [],
        splits=request.operation == "open"
        and isinstance(executor, ColumnarExecutor)
        and executor.splits,
        state_rows=executor.state_rows if isinstance(executor, ColumnarExecutor) else 0,
        work=dict(executor.take_work()),
        takes_together=isinstance(executor, ColumnarExecutor),
    )


def _switch_playback(request: wire.Request, held: Held) -> None:
    if not isinstance(held.executor, ReferenceExecutor):
        raise Unfit("playback is switched while the app runs")
    on, idle_ms, increment_ms = json.loads(request.text or "")
    held.executor.enable_playback(on, idle_ms, increment_ms)


_KINDS: dict[type[LockstepError], str] = {SiddhiQLError: "text", EventError: "event"}


def _refused(error: SiddhiQLError | SnapshotError | EventError) -> wire.Answer:
    line, column = (error.line, error.column) if isinstance(error, SiddhiQLError) else (1, 1)
    return wire.Answer(
        "refused",
        wire.EMPTY,
        here(),
        kind=_KINDS.get(type(error), "snapshot"),
        message=error.message,
        line=line,
        column=column,
        hint=error.hint,
    )


@cache
def _limit_memory(max_bytes: int) -> None:
    """What counting rows misses ends with this process: the system gives it no more memory. What is
    shared with the driver does not count, nor does what is only reserved."""
    if max_bytes:
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        allowed = max_bytes if most == resource.RLIM_INFINITY else min(max_bytes, most)
        resource.setrlimit(resource.RLIMIT_DATA, (allowed, most))


@cache
def _keep_memory() -> None:
    """Freed memory stays with the process: large arrays come and go with every slice, and giving
    their pages back and forth costs more than filling them."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_KEPT_BYTES)
        libc.mallopt(_M_TRIM_THRESHOLD, _LARGEST_KEPT_BYTES)
