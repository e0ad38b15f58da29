"""Attribute types and stream schemas: the shape of every event, in SiddhiQL's words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class AttributeType(StrEnum):
    """The seven types of the language (grammar 3.1). Every attribute may hold null."""

    STRING = "string"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BOOL = "bool"
    OBJECT = "object"

    @property
    def is_numeric(self) -> bool:
        """True for int, long, float and double."""
        return self in NUMERIC_TYPES


NUMERIC_TYPES = frozenset(
    {AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE}
)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One named, typed column of a stream, table, window or aggregation."""

    name: str
    type: AttributeType


@dataclass(frozen=True)
class StreamSchema:
    """The name and ordered attributes of a stream (or table, window, aggregation, trigger)."""

    name: str
    attributes: tuple[Attribute, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Attribute names in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def types(self) -> tuple[AttributeType, ...]:
        """Attribute types in order."""
        return tuple(attribute.type for attribute in self.attributes)

    @cached_property
    def codes(self) -> str:
        """The letter of each attribute's type, as the header of a record bears them."""
        return "".join(type_.value[0] for type_ in self.types)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {attribute.name: i for i, attribute in enumerate(self.attributes)}

    def index_of(self, name: str) -> int | None:
        """The 0-based position of the attribute, or None when there is none of that name."""
        return self._positions.get(name)

    def renamed(self, name: str) -> StreamSchema:
        """The same attributes under another stream name."""
        return StreamSchema(name, self.attributes)
