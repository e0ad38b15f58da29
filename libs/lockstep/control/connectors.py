"""The sources and sinks of an app, and how each is called where one of them is meant. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from lockstep.control.units import AppView
from lockstep.mapping import annotated

SINK: Final = "sink:"
ANSWERS: Final = "-response"
"""Sources of answers are named so: http-call-response, grpc-call-response."""


@dataclass(frozen=True, slots=True)
class Connector:
    """A `@source` or `@sink`, or a `@store` that rows are written to. `name`: without its kind, as
    `lockstep status` has it; the `number`-th of its stream, counted from 0."""

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
    return [*_sources(view), *_sinks(view)]


def _sources(view: AppView) -> Iterator[Connector]:
    counted: dict[str, int] = {}
    for _, definition, annotation in annotated(view.checked, "source"):
        number = counted.get(definition.name, 0)
        counted[definition.name] = number + 1
        kind = (annotation.get("type") or "").lower()
        yield Connector("source", definition.name, number, kind)


def _sinks(view: AppView) -> Iterator[Connector]:
    for name in (*view.exported, *view.stored):
        definition = view.definition(name)
        if definition is None:
            continue
        wanted = "store" if name in view.stored else "sink"
        found = [one for one in definition.annotations if one.name.lower() == wanted]
        for number, annotation in enumerate(found):
            yield Connector("sink", name, number, annotation.get("type") or "none")
