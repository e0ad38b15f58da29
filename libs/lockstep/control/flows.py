"""What an app lets through, as those tell who carry it: asked when somebody looks, for it is too
much for heartbeats.

Nothing that has to be right rests on it. Who does not answer in time is left out, by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

import msgspec

from lockstep.bus import Topics, control_subject
from lockstep.control.messages import Heartbeat
from lockstep.events import UnavailableError
from lockstep.events.typed import from_json

ANSWER_LIMIT_MS: Final = 1_000
"""Somebody looks at it and will ask again: a process that is paused is not waited for."""


class UnitFlow(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of a unit that this process leads, each by name and in a second: events of input streams that
    it has read in the log (those of other partitions among them), rows that its queries gave, rows
    of streams and tables that it appended to its output log. `channel_rows` of other units wait.
    """

    group: str
    partition: int
    events: Mapping[str, float] = {}
    queries: Mapping[str, float] = {}
    rows: Mapping[str, float] = {}
    channel_rows: int = 0


class FlowTold(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a process knows of an app.

    A processor: of its `units`. A receiver: how many events of each stream it made durable in a
    second (`taken`), and why it cannot read a source of a stream now (`troubles`). A presenter: how
    many rows of each stream it showed in a second, how late the
    app's rows were there, and how many records of the output log (of an app that is cut: positions
    of the input log) it has not read yet (`waits`; None: the log did not say).
    """

    units: tuple[UnitFlow, ...] = ()
    taken: Mapping[str, float] = {}
    troubles: Mapping[str, str] = {}
    shown: Mapping[str, float] = {}
    waits: int | None = None
    latency_p50_ms: int = 0
    latency_p99_ms: int = 0


class _Question(msgspec.Struct, frozen=True):
    app: str


Tell = Callable[[str], Awaitable[FlowTold]]
"""What this process knows of the app of that name; soon, and without an error."""


def flow_subject(service: str, node: str) -> str:
    """Where a process says what the apps that it carries let through."""
    return control_subject("flow", service, node)


async def answer_flows(topics: Topics, service: str, node: str, tell: Tell) -> None:
    """Until cancelled; UnavailableError when the bus is away."""

    async def answer(payload: bytes) -> bytes:
        question = from_json(payload, _Question)
        return msgspec.json.encode(await tell(question.app))

    answering = await topics.respond(flow_subject(service, node), answer)
    try:
        await asyncio.Event().wait()
    finally:
        await answering.close()


async def ask_flows(
    topics: Topics, app: str, beats: Iterable[Heartbeat]
) -> dict[tuple[str, str], FlowTold | None]:
    """By service and node; None: it did not answer."""
    wanted = [(beat.service, beat.node) for beat in beats]
    found = await asyncio.gather(*(_ask(topics, app, *one) for one in wanted))
    return dict(zip(wanted, found, strict=True))


async def _ask(topics: Topics, app: str, service: str, node: str) -> FlowTold | None:
    question = msgspec.json.encode(_Question(app))
    try:
        raw = await topics.request(
            flow_subject(service, node), question, timeout_ms=ANSWER_LIMIT_MS
        )
        return from_json(raw, FlowTold)
    except (UnavailableError, msgspec.DecodeError):  # away, or of another release
        return None
