"""What an app says of its archive: `@archive` in front of a stream or a table, `@app:archive` for
all of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedApp
from lockstep.siddhiql.checking.annotations import single, switch
from lockstep.siddhiql.durations import annotation_ms
from lockstep.siddhiql.typing import positioned

ARCHIVE: Final = "archive"
_KEYS: Final = ("retention", "enable")


@dataclass(frozen=True, slots=True)
class Archiving:
    """Whether something is archived, and for how long; None: for ever."""

    kept: bool
    retention_ms: int | None = None


@dataclass(frozen=True)
class AppArchiving:
    """What of an app is archived. `default`: of streams that say nothing themselves."""

    default: Archiving
    streams: Mapping[str, Archiving]

    @property
    def is_on(self) -> bool:
        """Something is: then the records of the logs are, too."""
        return self.default.kept or any(one.kept for one in self.streams.values())

    def of(self, stream: str) -> Archiving:
        """Of a stream or table; a fault stream `!S` is as `S` is."""
        return self.streams.get(stream) or self.streams.get(stream.lstrip("!"), self.default)

    @property
    def longest_ms(self) -> int | None:
        """How long the records are kept: as long as anything; None: for ever."""
        kept = [one.retention_ms for one in (self.default, *self.streams.values()) if one.kept]
        ends = [one for one in kept if one is not None]
        return max(ends) if ends and len(ends) == len(kept) else None


def check_archive(annotation: ast.Annotation) -> None:
    """Refuses what cannot be carried out."""
    for element in annotation.elements:
        if (element.key or "").lower() not in _KEYS:
            raise positioned(
                annotation.at,
                f"@{annotation.name} knows no {element.key or element.value!r}",
                "there is retention='90 days' and enable='false'",
            )
    switch(annotation, "enable")
    annotation_ms(annotation, "retention")


def archiving_of(checked: CheckedApp, *, by_default: bool) -> AppArchiving:
    """What a checked app says; `by_default`: whether apps that say nothing are archived."""
    default = Archiving(by_default)
    asked = checked.annotations.get(ARCHIVE)
    if asked is not None:
        default = _read(asked, Archiving(True))
    streams: dict[str, Archiving] = {}
    for definition in checked.app.definitions:
        own = single(getattr(definition, "annotations", ()), ARCHIVE)
        if own is not None:
            streams[definition.name] = _read(own, Archiving(True, default.retention_ms))
    return AppArchiving(default, streams)


def _read(annotation: ast.Annotation, otherwise: Archiving) -> Archiving:
    kept = switch(annotation, "enable")
    return Archiving(
        otherwise.kept if kept is None else kept,
        annotation_ms(annotation, "retention", otherwise.retention_ms),
    )
