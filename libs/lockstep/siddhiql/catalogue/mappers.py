"""What a mapper declares of itself, and how its options are written."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue.contract import Extension, ExtensionKind, Overload, Parameter

Options = Overload | tuple[Parameter, ...]


@dataclass(frozen=True)
class MapperExtension(Extension):
    """A mapper: its options, and what maps (`package.module:name`, loaded when an app uses it).

    `columns`: of a source's mapper, what reads large payloads of many events without an object for
    each; empty where nothing does. `completes`: what gives a `@map` the options that follow from
    its source or sink; empty where none do.
    """

    mapper: str = ""
    columns: str = ""
    completes: str = ""


def texts(*names: str) -> tuple[Parameter, ...]:
    """Options that are texts."""
    return tuple(Parameter(name, constant=True, optional=True) for name in names)


def flags(*names: str) -> tuple[Parameter, ...]:
    """Options that are 'true' or 'false'."""
    types = (AttributeType.BOOL,)
    return tuple(Parameter(name, types, constant=True, optional=True) for name in names)


def mappers(
    name: str, *, source: tuple[str, Options], sink: tuple[str, Options], columns: str = "",
    completes: str = "",
) -> tuple[MapperExtension, ...]:  # fmt: skip
    """The two mappers of a format, each as what maps and its options. `columns`: of the source;
    `completes`: of both."""
    return tuple(
        MapperExtension(
            kind,
            name,
            (options if isinstance(options, Overload) else Overload(options),),
            mapper=mapper,
            columns=fast,
            completes=completes,
        )
        for kind, (mapper, options), fast in (
            (ExtensionKind.SOURCE_MAPPER, source, columns),
            (ExtensionKind.SINK_MAPPER, sink, ""),
        )
    )
