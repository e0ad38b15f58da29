"""Sinks `http-call`, `grpc-call` and `rdbms-call`: each message a request, whose answer comes in at
the suite's front door.

An answer has the identity of its request. So one that comes again, after a publisher died between
the answer and its cursor, is in the app's input log once: the first that is durable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

from lockstep.bus import ID_HEADER, PROPERTIES_HEADER, Ingress, RecordTooLargeError
from lockstep.connectors.http_call import CALL_ANSWERS, STATUS, status_pattern
from lockstep.mapping import annotated, map_of
from lockstep.siddhiql import CheckedApp, ast
from lockstep.sinks import Message, MessageRefusedError, Sink
from lockstep_services.publisher.sinks.requests import Answered, Requests

JSON: Final = "application/json"
BYTES: Final = "application/octet-stream"
TRANSPORT: Final = "trp:"
FRAME_BYTES: Final = 4_096
"""Of a message on the bus beside its payload."""


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """The `number`-th source of a stream; `properties`: what it takes by `trp:`. `is_json`: it
    takes JSON by names, whatever type the answer says to have."""

    stream: str
    number: int
    status: re.Pattern[str]
    properties: tuple[str, ...]
    is_json: bool

    def content_type(self, answered: Answered) -> str:
        """Of the answer as a message in the form of this source."""
        given = answered.headers.get("Content-Type", "").partition(";")[0].strip()
        return f"{JSON if self.is_json else given or BYTES}; source={self.number}"


def answer_sources(
    checked: CheckedApp, sink_id: str, kinds: Sequence[str] = CALL_ANSWERS
) -> Sequence[AnswerSource]:
    """Those of an app that take answers to the calls of a sink, in the order of the text.
    `kinds`: their types."""
    return list(_sources(checked, sink_id, kinds))


def _sources(checked: CheckedApp, sink_id: str, kinds: Sequence[str]) -> Iterator[AnswerSource]:
    counted: dict[str, int] = {}
    for _, definition, source in annotated(checked, "source"):
        number = counted.get(definition.name, 0)
        counted[definition.name] = number + 1
        is_answer = (source.get("type") or "").lower() in kinds
        if not is_answer or source.get("sink.id") != sink_id:
            continue
        mapping = map_of(source)
        kind = "" if mapping is None else (mapping.get("type") or "").lower()
        yield AnswerSource(
            definition.name, number, status_pattern(source.get(STATUS)),
            tuple(_properties(mapping)), kind in ("", "passthrough", "json"),
        )  # fmt: skip


def _properties(mapping: ast.Annotation | None) -> Iterator[str]:
    for attributes in () if mapping is None else mapping.nested("attributes"):
        for element in attributes.elements:
            if element.value.strip().startswith(TRANSPORT):
                yield element.value.strip().removeprefix(TRANSPORT)


class Asking(Protocol):
    """Sends messages as requests: `Requests`, or what carries them otherwise."""

    async def send(self, message: Message) -> Answered | None:
        """None: it was heard, and there is nothing to bring in."""

    def begin_again(self) -> None: ...

    async def close(self) -> None: ...


class CallSink(Sink):
    """For one destination. `name`: of the sink and its destination among those of the app.
    `asking`: what sends the requests, if not HTTP."""

    in_flight: ClassVar[int] = 16

    def __init__(
        self,
        options: Mapping[str, str],
        app: str,
        name: str,
        sources: Sequence[AnswerSource],
        ingress: Ingress,
        *,
        max_message_bytes: int,
        asking: Asking | None = None,
    ) -> None:
        self._most_bytes = max_message_bytes - FRAME_BYTES
        self._requests: Asking = asking or Requests(options, self._most_bytes)
        self._app = app
        self._name = name
        self._id = options["sink.id"]
        self._sources = sources
        self._ingress = ingress

    async def send(self, message: Message) -> None:
        """Delivered when the answer is durable."""
        answered = await self._requests.send(message)
        if answered is None:
            return
        source = self._source(answered.status)
        if source is None:
            answered.raise_if_bad()
            raise MessageRefusedError(
                f"{answered}; no source of sink.id '{self._id}' takes this status",
                hint=f"a source for it: {STATUS}='{answered.status}'",
            )
        values = {name: _property(name, message, answered) for name in source.properties}
        known = {name: value for name, value in values.items() if value is not _ABSENT}
        properties = json.dumps(known, default=str)
        if answered.is_cut or len(answered.body) + len(properties) > self._most_bytes:
            raise MessageRefusedError(
                f"{answered.url} answered with more than {self._most_bytes} bytes",
                hint="let it answer less, or raise bus.max_message_bytes",
            )
        headers = {
            ID_HEADER: f"{message.id}@{self._name}",
            "Content-Type": source.content_type(answered),
            PROPERTIES_HEADER: properties,
        }
        try:
            await self._ingress.publish(self._app, source.stream, answered.body, headers=headers)
        except RecordTooLargeError as error:
            raise MessageRefusedError(error.message, hint=error.hint) from error

    def _source(self, status: int) -> AnswerSource | None:
        fits = (one for one in self._sources if one.status.fullmatch(str(status)))
        return next(fits, None)

    def begin_again(self) -> None:
        """See Sink."""
        self._requests.begin_again()

    async def close(self) -> None:
        """Closes connections."""
        await self._requests.close()


class BlockingCallSink(CallSink):
    """One request at a time (`blocking.io='true'`): answers come in their order."""

    in_flight: ClassVar[int] = 1


class ChangeCallSink(BlockingCallSink):
    """Of changes, whose order means something."""

    takes_again: ClassVar[bool] = False


_ABSENT: Final = object()


def _property(name: str, message: Message, answered: Answered) -> Any:
    """An attribute of the request's event, else a header of its answer."""
    if name in message.event:
        return message.event[name]
    header = answered.headers.get(name)
    if header is None:
        return _ABSENT
    # Bytes that are no UTF-8 come as halves of characters, which no log can hold.
    return header.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
