"""`str:`: most of these refuse null. Positions count characters (Unicode code points) from 0."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lockstep.events import AttributeType
from lockstep.functions import java_regex
from lockstep.functions.convert import object_text, text_of
from lockstep.functions.java_text import code_units, compare, equals_ignore_case, trim
from lockstep.functions.nulls import Factory, Function, plain, refusing_null, with_pattern
from lockstep.operators.contract import Context
from lockstep.operators.errors import EventError
from lockstep.operators.limits import check_size
from lockstep.siddhiql.catalogue import Argument

_BRACES = re.compile(r"\{\{|\}\}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index < len(text):
        raise EventError(f"str:charAt: {text!r} has no character {index}")
    return text[index]


def _char_frequency(text: str, character: str) -> int:
    if len(character) != 1:
        raise EventError(f"str:charFrequency wants one character, not {character!r}")
    return text.count(character)


def _contains(text: str | None, part: str | None) -> bool:
    if text is None:
        return False
    if part is None:
        raise EventError("str:contains takes no null as its second argument")
    return part in text


def _equals_ignore_case(left: str | None, right: str | None) -> bool:
    if left is None:
        raise EventError("str:equalsIgnoreCase takes no null as its first argument")
    return equals_ignore_case(left, right)


def _hex(text: str) -> str:
    return "".join(f"{unit:x}" for unit in code_units(text))


def _unhex(text: str) -> str:
    try:
        return "".join(
            chr(int(text[at : at + 2], 16)) if at + 1 < len(text) else _half(text)
            for at in range(0, len(text), 2)
        )
    except ValueError as error:
        raise EventError(f"str:unhex: {text!r} is no text of hex digits") from error


def _half(text: str) -> str:
    raise EventError(f"str:unhex: {text!r} has half a byte")


def _locate(part: str, text: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise EventError(f"str:locate: {text!r} has no position {start}")
    return text.find(part, start)


def _regexp(text: str, regex: str) -> bool:
    return java_regex.compile_pattern(regex).fits(text)


def _repeat(text: str, times: int) -> str:
    check_size(len(text) * times, "str:repeat")
    return text * times


def _replace_all(text: str, regex: str, replacement: str) -> str:
    return java_regex.replace(regex, text, replacement)


def _replace_first(text: str, regex: str, replacement: str) -> str:
    return java_regex.replace(regex, text, replacement, count=1)


def _split(text: str, regex: str, index: int) -> str:
    pieces = java_regex.split(regex, text)
    if not 0 <= index < len(pieces):
        raise EventError(f"str:split: there is no piece {index} in {text!r}")
    return pieces[index]


def _from(text: str, begin: int, length: int | None = None) -> str:
    if not 0 <= begin <= len(text) or (length is not None and length < 0):
        raise EventError(f"str:substr: {text!r} has no part from {begin}")
    return text[begin:] if length is None else text[begin : begin + length]


def _matching(text: str, regex: str, group: int = 0) -> str | None:
    pattern = java_regex.compile_pattern(regex)
    match = pattern.search(text)
    if match is None:
        return ""
    if not 0 <= group <= pattern.groups:
        raise EventError(f"str:substr: {regex!r} has no group {group}")
    found: str | None = match[group]
    return found


def _substr(arguments: Sequence[Argument], context: Context) -> Function:
    by_regex = arguments[1].type is AttributeType.STRING
    function: Function = _matching if by_regex else _from
    factory = refusing_null("str:substr", function)
    return (with_pattern(1, factory) if by_regex else factory)(arguments, context)


def _concat(arguments: Sequence[Argument], context: Context) -> Function:
    texts = [text_of(argument.type) for argument in arguments]

    def concat(*values: Any) -> str:
        pairs = zip(texts, values, strict=True)
        whole = "".join(text(value) for text, value in pairs if value is not None)
        check_size(len(whole), "str:concat")
        return whole

    return concat


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _fill_template(arguments: Sequence[Argument], context: Context) -> Function:
    texts = [text_of(argument.type) for argument in arguments]

    def by_position(key: str, values: tuple[Any, ...]) -> str | None:
        if not key.isdecimal() or not 1 <= int(key) < len(values):
            raise EventError(f"str:fillTemplate: there is no value {key}")
        value = values[int(key)]
        return None if value is None else texts[int(key)](value)

    def by_name(key: str, values: tuple[Any, ...]) -> str | None:
        value = values[1].get(key)
        return None if value is None else object_text(value)

    def fill(*values: Any) -> str:
        if values[0] is None:
            raise EventError("str:fillTemplate takes no null template")
        lookup: Callable[..., str | None] = (
            by_name if isinstance(values[1], Mapping) else by_position
        )
        pieces = _BRACES.split(values[0])
        size = 0
        for at in range(1, len(pieces), 2):
            # What has no value keeps its name, without the braces.
            filled = lookup(pieces[at].strip(), values)
            pieces[at] = pieces[at] if filled is None else filled
            size += len(pieces[at])
            check_size(size, "str:fillTemplate")
        return "".join(pieces)

    return fill


_REFUSING: dict[str, Function] = {
    "charAt": _char_at,
    "charFrequency": _char_frequency,
    "hex": _hex,
    "unhex": _unhex,
    "length": len,
    "locate": _locate,
    "lower": str.lower,
    "upper": str.upper,
    "repeat": _repeat,
    "reverse": lambda text: text[::-1],
    "strcmp": compare,
    "trim": trim,
}

_BY_PATTERN: dict[str, Function] = {
    "regexp": _regexp,
    "replaceAll": _replace_all,
    "replaceFirst": _replace_first,
    "split": _split,
}

FUNCTIONS: dict[tuple[str, str], Factory] = {
    **{("str", name): refusing_null(f"str:{name}", f) for name, f in _REFUSING.items()},
    **{
        ("str", name): with_pattern(1, refusing_null(f"str:{name}", f))
        for name, f in _BY_PATTERN.items()
    },
    ("str", "coalesce"): plain(_coalesce),
    ("str", "concat"): _concat,
    ("str", "contains"): plain(_contains),
    ("str", "equalsIgnoreCase"): plain(_equals_ignore_case),
    ("str", "fillTemplate"): _fill_template,
    ("str", "substr"): _substr,
}
