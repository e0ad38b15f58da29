"""The sources and sinks of an app, and how each is called where one of them is meant. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from lockstep.control.units import AppView
from lockstep.events import StreamSchema
from lockstep.mapping import annotated
from lockstep.siddhiql import ast

Target = ast.StreamDefinition | ast.TableDefinition
SINK: Final = "sink:"
ANSWERS: Final = "-response"
"""Sources of answers are named so: http-call-response, grpc-call-response."""


@dataclass(frozen=True, slots=True)
class Connector:
    """A `@source` or `@sink`, or a `@store` that rows are written to. `name`: without its kind, as
    `lockstep status` has it. `number`: of a source, its place among those of its stream, from 0; of
    a sink, what it keeps in later texts."""

    kind: Literal["source", "sink"]
    stream: str
    number: int
    type: str

    @property
    def name(self) -> str:
        """Among the sources, or the sinks, of its app."""
        return f"{self.stream}.{self.number}.{self.type}"

    @property
    def element(self) -> str:
        """Among both."""
        return f"{self.kind}:{self.name}"

    @property
    def brings_answers(self) -> bool:
        """What calls of a sink are answered: it is the sink that may be paused."""
        return self.kind == "source" and self.type.endswith(ANSWERS)


def sink_element(name: str) -> str:
    """Of a sink of that name."""
    return SINK + name


def connectors_of(view: AppView) -> list[Connector]:
    """All of an app: its sources, and behind them its sinks, in the order of its text."""
    sources = (one for one, _, _ in sources_of(view))
    return [*sources, *(one for one, _, _ in sinks_of(view))]


def sources_of(view: AppView) -> Iterator[tuple[Connector, StreamSchema, ast.Annotation]]:
    """Those of an app, as they are written and with what they bring, in the order of its text."""
    counted: dict[str, int] = {}
    for schema, definition, annotation in annotated(view.checked, "source"):
        number = counted.get(definition.name, 0)
        counted[definition.name] = number + 1
        kind = (annotation.get("type") or "").lower()
        yield Connector("source", definition.name, number, kind), schema, annotation


def sinks_of(view: AppView) -> Iterator[tuple[Connector, Target, ast.Annotation]]:
    """The same, with the stream or table whose rows they take."""
    for name in (*view.exported, *view.stored):
        definition = view.definition(name)
        if definition is None:
            continue
        wanted = "store" if name in view.stored else "sink"
        found = [one for one in definition.annotations if one.name.lower() == wanted]
        for number, annotation in zip(_numbers(view, name, len(found)), found, strict=True):
            kind = annotation.get("type") or "none"
            yield Connector("sink", name, number, kind), definition, annotation


def _numbers(view: AppView, stream: str, count: int) -> Sequence[int]:
    """Of its sinks: those that the deployment has for them, else their places in the text."""
    given = [one.number for one in view.deployment.sinks.now if one.stream == stream]
    return given if len(given) == count else range(count)
