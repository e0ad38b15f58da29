"""`regex:`: a null text is found nowhere; a null pattern is refused."""

from __future__ import annotations

from lockstep.functions.java_regex import compile_pattern
from lockstep.functions.nulls import Factory, plain, refusing_null, with_pattern
from lockstep.operators.errors import EventError


def _pattern(name: str, regex: str | None) -> str:
    if regex is None:
        raise EventError(f"regex:{name} takes no null pattern")
    return regex


def _find(regex: str | None, text: str | None, *start: int | None) -> bool:
    pattern = compile_pattern(_pattern("find", regex))
    if text is None or None in start:
        return False
    begin = start[0] if start else 0
    if begin is None or not 0 <= begin <= len(text):
        raise EventError(f"regex:find: {text!r} has no position {begin}")
    return pattern.finds(text, begin)


def _matches(regex: str | None, text: str | None) -> bool:
    pattern = compile_pattern(_pattern("matches", regex))
    return text is not None and pattern.fits(text)


def _looking_at(regex: str | None, text: str | None) -> bool:
    pattern = compile_pattern(_pattern("lookingAt", regex))
    return text is not None and pattern.begins(text)


def _group(regex: str, text: str, group: int) -> str | None:
    pattern = compile_pattern(regex)
    match = pattern.search(text)
    if match is None or group > pattern.groups:
        return None
    if group < 0:
        raise EventError(f"regex:group: there is no group {group}")
    found: str | None = match[group]
    return found


FUNCTIONS: dict[tuple[str, str], Factory] = {
    ("regex", "find"): with_pattern(0, plain(_find)),
    ("regex", "matches"): with_pattern(0, plain(_matches)),
    ("regex", "lookingAt"): with_pattern(0, plain(_looking_at)),
    ("regex", "group"): with_pattern(0, refusing_null("regex:group", _group)),
}
