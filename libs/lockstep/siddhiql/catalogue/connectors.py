"""What a source, sink or store declares of itself, and how its options are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue.contract import Argument, Extension, ExtensionKind, Parameter

INT: Final = (AttributeType.INT,)
BOOL: Final = (AttributeType.BOOL,)


def options_given(arguments: Sequence[Argument]) -> dict[str, str]:
    """The options of a source, sink or store as they are written, by name, for its `check`."""
    return {one.attribute_name or "": str(one.value) for one in arguments}


def option(
    name: str,
    types: tuple[AttributeType, ...] = (),
    *,
    needed: bool = False,
    choices: tuple[str, ...] = (),
) -> Parameter:
    """An option whose value is the same for all events."""
    return Parameter(
        name, types, constant=True, optional=not needed, positive=types == INT, choices=choices
    )


def dynamic(name: str, *, needed: bool = False) -> Parameter:
    """An option that may hold `{{attribute}}`."""
    return Parameter(name, optional=not needed)


@dataclass(frozen=True)
class Inert(Parameter):
    """An option that is taken and means nothing here."""


def without_meaning(names: str, types: tuple[AttributeType, ...] = ()) -> tuple[Parameter, ...]:
    """Such options, by names between blanks."""
    return tuple(Inert(name, types, constant=True, optional=True) for name in names.split())


@dataclass(frozen=True)
class Partner:
    """The other half of a connector, in the same app: one of these `types`, with the same value of
    `option`. `why` it is needed; `instead`: what to use where it is not."""

    kind: ExtensionKind
    types: tuple[str, ...]
    option: str
    why: str
    instead: str


@dataclass(frozen=True)
class ConnectorExtension(Extension):
    """A type of source, sink or store: it has one overload, named options in any order.

    `retired`: options of the older products, with what to do instead. `one_destination`: what to
    do instead of a @distribution, where rows and their place go in one transaction. `shared`:
    options that have to be the same for all destinations, with the reason. `carrier`: what carries
    the messages (`package.module:name`, loaded when an app uses it); empty: a service does.
    `extra`: the optional dependencies of the project that the carrier needs. `partner`: what it
    means nothing without. `older_name_of`: the type that this is another name of. `keys`: options
    that name attributes, with commas, by which rows are told apart.
    """

    retired: Mapping[str, str] = field(default_factory=dict)
    one_destination: str = ""
    shared: tuple[tuple[str, ...], str] = ((), "")
    carrier: str = ""
    extra: str = ""
    partner: Partner | None = None
    older_name_of: str = ""
    keys: tuple[str, ...] = ()
