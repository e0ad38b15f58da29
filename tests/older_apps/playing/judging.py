"""What the reference engine gives for the very input that the suite took, and whether the suite
gave the same: row by row in its output log, message by message at the other side of every sink.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from lockstep.bus import InputLog, OutputLog
from lockstep.connectors.hl7.v2xml import from_xml
from lockstep.events import Event, EventsRecord, Operation, OutputRecord, OutputRow
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.mapping import (
    MappingError,
    MessageWriter,
    annotated,
    build_distribution,
    destinations,
)
from lockstep.plan import AppPlan
from lockstep.schemas import SchemaUser, bring
from lockstep.schemas.registry import SchemaRegistry
from lockstep.siddhiql import ast

STATEMENTS: Final = "rdbms-call"
"""A type of sink that sends no messages."""
READ: Final = {"max_records": 5_000, "max_bytes": 8_388_608, "wait_ms": 1}
CALLS: Final = {"http-request": "http", "http-call": "http", "grpc-call": "grpc"}
ANSWERS: Final = ("http-response", "http-service-response", "grpc-service-response")
"""Of a sink: what goes back to who asked."""


def kind_of(sink: ast.Annotation) -> str:
    """Types that arrive at the same server are one."""
    kind = (sink.get("type") or "").lower()
    return "answer" if kind in ANSWERS else CALLS.get(kind, kind)


class Sink:
    """What becomes of a stream's rows by one of its `@sink`s."""

    def __init__(self, plan: AppPlan, stream: str, sink: ast.Annotation) -> None:
        schema = plan.schemas[stream]
        self.stream = stream
        self.kind = kind_of(sink)
        self.annotation = sink
        self._distribution = build_distribution(schema, sink)
        self._prefix = sink.get("prefix") or f"{plan.checked.name} : {stream}"
        self._writers = [MessageWriter(schema, each) for each in destinations(sink)]

    @property
    def schema_users(self) -> list[SchemaUser]:
        """Who wants schemas of a registry."""
        return [user for each in self._writers if (user := each.schema_user) is not None]

    def messages(self, chunk: Sequence[Event]) -> Iterator[bytes]:
        """Of the rows that one record of input caused together."""
        for at, part in self._distribution.route(chunk, [True] * len(self._writers)):
            if at is None:
                continue
            for group in self._writers[at].groups(part):
                try:
                    payload = self._writers[at].write(group)
                except MappingError:
                    continue  # a dead letter
                if self.kind == "hl7" and self.annotation.get("hl7.encoding") == "xml":
                    try:
                        payload = from_xml(payload)  # as it goes over the wire
                    except ValueError:
                        continue
                if self.kind == "log":
                    prefix = self._writers[at].fill(self._prefix, group[0])
                    payload = f"{prefix} : ".encode() + payload
                yield payload


@dataclass
class Judge:
    """Follows an app's two logs and folds the first on the reference."""

    plan: AppPlan
    input_log: InputLog
    output_log: OutputLog
    events: int = 0
    faults: list[str] = field(default_factory=list)
    expected: list[OutputRow] = field(default_factory=list)
    given: list[OutputRow] = field(default_factory=list)
    taken: defaultdict[str, list[tuple[object, ...]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """What came in, by stream."""

    def __post_init__(self) -> None:
        self.reference = ReferenceExecutor(self.plan)
        self.position = self._sequence = 0
        self._totals: Counter[str] = Counter()
        self.sinks = [
            Sink(self.plan, schema.name, sink)
            for schema, _, sink in annotated(self.plan.checked, "sink")
            if schema.name in self.plan.exported and kind_of(sink) != STATEMENTS
        ]
        self.messages: dict[str, list[bytes]] = {each.kind: [] for each in self.sinks}

    async def bring(self, registry: SchemaRegistry) -> None:
        """The schemas that sinks have there."""
        for sink in self.sinks:
            for user in sink.schema_users:
                await bring(user, registry)
        await registry.close()

    async def follow(self) -> None:
        """As far as the logs go now."""
        while entries := await self.input_log.read(self.position, **READ):
            # Not on the loop, which is the suite's, too.
            result = await asyncio.to_thread(self.reference.run_slice, entries)
            self.position = entries[-1].position
            for entry in entries:
                if isinstance(entry.record, EventsRecord):
                    self.events += sum(map(len, entry.record.chunks))
                    self.taken[entry.record.stream] += (
                        each.data for chunk in entry.record.chunks for each in chunk
                    )
            self.faults += [f"{each.stream}: {each.reason}" for each in result.faults]
            self.expected += result.rows
            for _, rows in groupby(result.rows, key=lambda row: row.id.position):
                self._write(list(rows))
        while records := await self.output_log.read(self._sequence, **READ):
            self._sequence = records[-1].sequence
            for each in records:
                if isinstance(each.record, OutputRecord):
                    self.given += each.record.rows

    def _write(self, rows: Sequence[OutputRow]) -> None:
        for sink in self.sinks:
            chunk = [
                Event(row.timestamp_ms, row.data)
                for row in rows
                if row.stream == sink.stream and row.operation is Operation.EVENT
            ]
            if sink.kind == "prometheus":
                self._add(sink, chunk)
            elif chunk:
                self.messages[sink.kind] += sink.messages(chunk)

    def _add(self, sink: Sink, chunk: Sequence[Event]) -> None:
        """To the one number that its metric is."""
        at = self.plan.schemas[sink.stream].names.index(
            sink.annotation.get("value.attribute") or "value"
        )
        self._totals[sink.stream] += sum(event.data[at] for event in chunk)
        totals = self._totals.items()
        self.messages["prometheus"] = [total_of(stream, total) for stream, total in totals]

    def log_difference(self) -> str | None:
        """The first row in which the output log and the reference part; None: they are one."""
        for mine, theirs in zip(self.expected, self.given, strict=False):
            if mine != theirs:
                return f"reference {_row(mine)}, suite {_row(theirs)}"
        if len(self.expected) != len(self.given):
            return f"reference {len(self.expected)} rows, suite {len(self.given)}"
        return None


def message_difference(expected: Sequence[bytes], arrived: Sequence[bytes]) -> str | None:
    """Messages that did not arrive as often as they should; None: all did."""
    wanted, found = Counter(map(_even, expected)), Counter(map(_even, arrived))
    if wanted == found:
        return None
    missing, more = list((wanted - found).elements()), list((found - wanted).elements())
    parts = [f"{len(missing)} missing {missing[:1]!r}"] if missing else []
    parts += [f"{len(more)} unexpected {more[:1]!r}"] if more else []
    return ", ".join(parts)


def _even(message: bytes) -> bytes:
    """Mail and HL7 have line ends of their own, and a file ends each message with one."""
    return message.replace(b"\r\n", b"\n").replace(b"\r", b"\n").strip()


def _row(row: OutputRow) -> str:
    return f"{row.stream} {row.id.position}.{row.id.ordinal} {row.data!r}"


def total_of(stream: str, total: float) -> bytes:
    """A metric as one message: what all its rows come to."""
    return f"{stream} {total:g}".encode()
