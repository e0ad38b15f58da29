"""Finds the overload that takes given arguments, or says in the language's words what is taken."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import NUMERIC_TYPES, AttributeType
from lockstep.siddhiql.catalogue.contract import (
    Argument,
    Extension,
    ExtensionKind,
    Overload,
    Parameter,
    SignatureError,
)
from lockstep.siddhiql.catalogue.installed import asked

_COUNTS = ("takes at least", "takes at most")
_TOO_SMALL = "must be more than 0"


def match(
    extension: Extension, arguments: Sequence[Argument]
) -> tuple[Overload, AttributeType | None]:
    """The first overload that takes the arguments, and its result (None for windows and the like).

    Raises SignatureError, which lists what the extension takes.
    """
    refusals: list[SignatureError] = []
    for overload in extension.overloads:
        refusal = _refusal(overload, arguments)
        if refusal is not None:
            refusals.append(refusal)
            continue
        try:
            if overload.check is not None:
                asked(overload.check, arguments)
            return overload, _result(overload, arguments)
        except SignatureError as error:
            # Everything fits but a value: that says more than what other overloads take.
            raise _explained(extension, arguments, [error]) from None
    raise _explained(extension, arguments, refusals)


def _result(overload: Overload, arguments: Sequence[Argument]) -> AttributeType | None:
    if overload.result is None or isinstance(overload.result, AttributeType):
        return overload.result
    return asked(overload.result, arguments)


def _refusal(overload: Overload, arguments: Sequence[Argument]) -> SignatureError | None:
    """Why the overload does not take the arguments, or None when it does."""
    parameters = overload.parameters
    repeated = parameters[-1] if parameters and parameters[-1].repeat else None
    plain = parameters[:-1] if repeated is not None else parameters
    needed = sum(1 for p in plain if not p.optional)
    if repeated is not None:
        needed += repeated.min_repeat
    if len(arguments) < needed:
        return SignatureError(f"{_COUNTS[0]} {_count(needed)}")
    if repeated is None and len(arguments) > len(plain):
        return SignatureError(f"{_COUNTS[1]} {_count(len(plain))}")
    for index, argument in enumerate(arguments):
        parameter = plain[index] if index < len(plain) else repeated
        assert parameter is not None
        refusal = _misfit(parameter, argument, arguments, index)
        if refusal is not None:
            return refusal
    return None


def _count(number: int) -> str:
    return "no argument" if number == 0 else f"{number} argument{'s' if number > 1 else ''}"


def _misfit(
    parameter: Parameter, argument: Argument, arguments: Sequence[Argument], index: int
) -> SignatureError | None:
    if parameter.constant and not argument.is_constant:
        return SignatureError(f"{parameter.name!r} must be a constant")
    if parameter.attribute and not argument.is_attribute:
        return SignatureError(f"{parameter.name!r} must be an attribute")
    if parameter.types and argument.type not in parameter.types:
        wanted = _types(parameter)
        return SignatureError(
            f"{parameter.name!r} must be {wanted}, "
            f"but argument {index + 1} is {argument.type.value}"
        )
    if parameter.positive and argument.is_constant and argument.value <= 0:
        return SignatureError(f"{parameter.name!r} {_TOO_SMALL}")
    if parameter.same_as_first and argument.type is not arguments[0].type:
        return SignatureError(
            f"argument {index + 1} must be {arguments[0].type.value} like the first one, "
            f"but is {argument.type.value}"
        )
    return None


def _explained(
    extension: Extension, arguments: Sequence[Argument], refusals: Sequence[SignatureError]
) -> SignatureError:
    given = ", ".join(argument.type.value for argument in arguments)
    title = extension.full_name
    kind = "window " if extension.kind is ExtensionKind.WINDOW else ""
    # Where overloads differ in number alone, the one reason about an argument is the reason.
    telling = {r.message: r for r in refusals if not r.message.startswith(_COUNTS)}
    # One that takes all of these but a value says more than those that take others.
    values = {message: r for message, r in telling.items() if message.endswith(_TOO_SMALL)}
    if len(values) == 1:
        telling = values
    if len(refusals) == 1 or len(telling) == 1:
        only = next(iter(telling.values()), refusals[0])
        message = f"{kind}{title}({given}): {only.message}"
        hint = only.hint or f"it takes {signature(extension)}"
        return SignatureError(message, hint)
    return SignatureError(
        f"{kind}{title} does not take ({given})", f"it takes {signature(extension)}"
    )


def signature(extension: Extension) -> str:
    """All overloads as people write them: `time(t: int|long)`."""
    title = extension.full_name
    return " or ".join(f"{title}({_parameters(overload)})" for overload in extension.overloads)


def _parameters(overload: Overload) -> str:
    return ", ".join(map(_parameter, overload.parameters))


def _types(parameter: Parameter) -> str:
    if frozenset(parameter.types) == NUMERIC_TYPES:
        return "a number"
    return "|".join(type_.value for type_ in parameter.types)


def _parameter(parameter: Parameter) -> str:
    text = parameter.name
    if parameter.same_as_first:
        text += ": same"
    elif parameter.types:
        text += f": {_types(parameter)}"
    if parameter.attribute:
        text += " attribute"
    if parameter.constant:
        text += " constant"
    if parameter.repeat:
        text += ", …"
    return f"[{text}]" if parameter.optional else text
