"""How packs say which options a source, sink or store takes."""

from __future__ import annotations

from typing import Final

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue.contract import Extension, ExtensionKind, Overload, Parameter

INT: Final = (AttributeType.INT,)
BOOL: Final = (AttributeType.BOOL,)


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


def without_meaning(names: str, types: tuple[AttributeType, ...] = ()) -> tuple[Parameter, ...]:
    """Options that are taken and mean nothing here, by names between blanks."""
    return tuple(Parameter(name, types, constant=True, optional=True) for name in names.split())


def extension(
    kind: ExtensionKind, name: str, doc: str, overload: Overload | tuple[Parameter, ...]
) -> Extension:
    """A source, sink, store or mapper: it has one overload, named options in any order."""
    only = overload if isinstance(overload, Overload) else Overload(overload)
    return Extension(kind, name, (only,), doc=doc)
