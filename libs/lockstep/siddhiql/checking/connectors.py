"""Types and options of sources, sinks, stores and mappers (extensions 12 to 15).

What is not in the catalogue is refused by name: what the older products had with what to use
instead, everything else with the nearest name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from lockstep.events import AttributeType, StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import (
    Argument,
    Extension,
    ExtensionKind,
    Parameter,
    SignatureError,
)
from lockstep.siddhiql.catalogue.connectors import ConnectorExtension, Inert
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.catalogue.installed import MAKERS, asked, unmade
from lockstep.siddhiql.checking.retired import RETIRED
from lockstep.siddhiql.parts import parts
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.siddhiql.typing import positioned

COMMON: Final[Mapping[ExtensionKind, frozenset[str]]] = {
    ExtensionKind.SINK: frozenset({"type", "on.error"}),
    ExtensionKind.SOURCE: frozenset({"type"}),
    ExtensionKind.STORE: frozenset({"type"}),
    ExtensionKind.SOURCE_MAPPER: frozenset({"type"}),
    ExtensionKind.SINK_MAPPER: frozenset({"type"}),
}
"""Elements that every type of a kind takes."""

_PLACE_OF_TEMPLATE = "{{"
_LARGEST = 2**31 - 1


def declared_connector(extension: Extension) -> ConnectorExtension:
    """What a type declares; of one that says nothing but its options what holds of any."""
    if isinstance(extension, ConnectorExtension):
        return extension
    return ConnectorExtension(extension.kind, extension.name, extension.overloads)


def find_type(kind: ExtensionKind, name: str) -> Extension | None:
    """The type of that name, compared without case."""
    catalogue = default_catalogue()
    exact = catalogue.find(kind, None, name)
    if exact is not None:
        return exact
    for known in catalogue.names(kind):
        if known.lower() == name.lower():
            return catalogue.find(kind, None, known)
    return None


def options_of(kind: ExtensionKind, annotation: ast.Annotation) -> dict[str, str]:
    """The options that an annotation gives, by the names under which its type declares them."""
    extension = find_type(kind, annotation.get("type") or "")
    parameters = extension.overloads[0].parameters if extension is not None else ()
    given = {parameter.name: annotation.get(parameter.name) for parameter in parameters}
    return {name: value for name, value in given.items() if value is not None}


def require_type(annotation: ast.Annotation, example: str) -> str:
    """The type that an annotation names."""
    name = annotation.get("type")
    if name is not None:
        return name
    if annotation.get("ref") is not None:
        raise positioned(
            annotation.at,
            f"@{annotation.name} refers to a configuration, and there is none outside the app",
            f"write the type and its options here: @{annotation.name}(type='{example}', …)",
        )
    raise positioned(annotation.at, f"@{annotation.name} needs a 'type'", f"type='{example}'")


def check_connector(
    kind: ExtensionKind, annotation: ast.Annotation, places: Iterable[ast.Annotation] = ()
) -> None:
    """Type and options of an annotation that has a type; `places`: its @destinations."""
    extension = _known(kind, annotation)
    _check_made(extension, annotation)
    found = list(places)
    declared = declared_connector(extension)
    if found and declared.one_destination:
        raise positioned(
            found[0].at,
            f"a {extension.kind.value} {extension.name!r} takes no @distribution",
            declared.one_destination,
        )
    merged = [(place, _elements(annotation, place)) for place in found] or [
        (annotation, list(annotation.elements))
    ]
    for place, elements in merged:
        _check_options(extension, place, elements)
    _check_shared(declared, merged)


def _check_made(extension: Extension, annotation: ast.Annotation) -> None:
    """Of an installed package: a type that nothing makes would be taken for one of ours."""
    kind = extension.kind
    if kind not in MAKERS or declared_connector(extension).carrier:
        return
    wrong = unmade(extension)
    if wrong is not None:
        raise positioned(annotation.at, *wrong)


def check_keys(kind: ExtensionKind, annotation: ast.Annotation, schema: StreamSchema) -> None:
    """Options that name attributes by which rows are told apart; the annotation was checked."""
    declared = declared_connector(_known(kind, annotation))
    for option in declared.keys:
        for name in (annotation.get(option) or "").split(","):
            at = schema.index_of(name.strip())
            if name.strip() and at is None:
                raise positioned(
                    annotation.at,
                    f"{option!r}: {schema.name!r} has no attribute {name.strip()!r}",
                    did_you_mean(name.strip(), schema.names),
                )
            if at is not None and schema.types[at] is AttributeType.OBJECT:
                raise positioned(
                    annotation.at,
                    f"{option!r}: {name.strip()!r} is an object, and no key",
                    "name attributes of other types",
                )


def _elements(annotation: ast.Annotation, place: ast.Annotation) -> list[ast.Element]:
    """A destination's own, and those of the sink that it does not repeat."""
    own = {(element.key or "").lower() for element in place.elements}
    inherited = [one for one in annotation.elements if (one.key or "").lower() not in own]
    return [*place.elements, *inherited]


def _check_shared(
    extension: ConnectorExtension, merged: Sequence[tuple[ast.Annotation, Sequence[ast.Element]]]
) -> None:
    names, why = extension.shared
    for name in names:
        found = [
            (place, {frozenset(parts(e.value)) for e in elements if (e.key or "").lower() == name})
            for place, elements in merged
        ]
        for place, value in found:
            if value != found[0][1]:
                raise positioned(
                    place.at, f"destinations of a {extension.name} sink share {name!r}", why
                )


def _known(kind: ExtensionKind, annotation: ast.Annotation) -> Extension:
    name = annotation.get("type") or ""
    extension = find_type(kind, name)
    if extension is not None:
        return extension
    old = {known.lower(): hint for known, hint in RETIRED.get(kind, {}).items()}
    if name.lower() in old:
        raise positioned(
            annotation.at, f"there is no {kind.value} {name!r} here", old[name.lower()]
        )
    names = default_catalogue().names(kind)
    raise positioned(annotation.at, f"there is no {kind.value} {name!r}", did_you_mean(name, names))


def _check_options(
    extension: Extension, place: ast.Annotation, elements: list[ast.Element]
) -> None:
    overload = extension.overloads[0]
    known = {parameter.name.lower(): parameter for parameter in overload.parameters}
    title = f"{extension.kind.value} {extension.name!r}"
    given: dict[str, Argument] = {}
    for element in elements:
        key = (element.key or "").lower()
        if not key:
            # Older apps have the equals sign within the quotes. There, too, it said nothing.
            if isinstance(known.get(element.value.partition("=")[0].strip().lower()), Inert):
                continue
            raise positioned(
                place.at, f"{element.value!r} has no name: options of a {title} are name='value'",
                f"there is {', '.join(p.name for p in overload.parameters) or 'none'}",
            )  # fmt: skip
        if key in COMMON[extension.kind]:
            continue
        if key not in known:
            raise _unknown(extension, place, element.key or "")
        problem = _misfit(known[key], element.value)
        if problem is not None:
            raise positioned(place.at, f"{title}: {element.key!r} is {element.value!r}", problem)
        given[key] = Argument(
            AttributeType.STRING, is_constant=True, value=element.value,
            attribute_name=known[key].name,
        )  # fmt: skip
    for name, parameter in known.items():
        if not parameter.optional and name not in given:
            raise positioned(
                place.at, f"a {title} needs {parameter.name!r}", f"{parameter.name}='…'"
            )
    if overload.check is not None:
        try:
            asked(overload.check, list(given.values()))
        except SignatureError as error:
            raise positioned(place.at, f"{title}: {error.message}", error.hint) from error


def _unknown(extension: Extension, place: ast.Annotation, option: str) -> Exception:
    title = f"{extension.kind.value} {extension.name!r}"
    retired = declared_connector(extension).retired
    if option.lower() in retired:
        return positioned(place.at, f"the {title} has no {option!r} here", retired[option.lower()])
    names = [parameter.name for parameter in extension.overloads[0].parameters]
    part = next((name for name in names if option.lower() in name.split(".")), None)
    hint = did_you_mean(part or option, names) if names else "it has no options"
    return positioned(place.at, f"the {title} has no option {option!r}", hint)


def _misfit(parameter: Parameter, text: str) -> str | None:
    """What to write instead, or None when the value fits."""
    if parameter.constant and _PLACE_OF_TEMPLATE in text:
        return "this option is the same for all events: leave {{…}} out"
    if AttributeType.BOOL in parameter.types and text.strip().lower() not in ("true", "false"):
        return "write 'true' or 'false'"
    if {AttributeType.INT, AttributeType.LONG} & set(parameter.types):
        digits = text.strip()
        low = 1 if parameter.positive else 0
        if not digits.isdecimal() or not low <= int(digits[:18]) <= _LARGEST:
            return f"write a whole number from {low} on"
    choices = parameter.choices
    if choices and text.strip().lower() not in [choice.lower() for choice in choices]:
        return f"there is {', '.join(choices)}"
    return None
