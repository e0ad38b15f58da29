"""What a template says of itself: comments in front of its text. Pure.

-- template: Room too hot
-- about: Tells when a room is hotter than it may be.
-- parameter room string = 'kitchen': The room that is watched.
-- parameter limit double from 0 to 100 = 30: Degrees.
-- parameter unit string in ('C', 'F'): Of the limit.
-- parameter span time = '5 min': How long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from lockstep.templates.errors import TemplateError
from lockstep.templates.values import EXAMPLES, NUMBERS, Kind, Value, read

APP: Final = "app"
"""The parameter that every template has: the name of the instance, which is its app's."""
MAX_PARAMETERS: Final = 50
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,79}", re.ASCII)
_LINE: Final = re.compile(r"--\s*(template|about|parameter)\b\s*:?\s*(.*?)\s*\Z")
_LITERAL: Final = r"(?:'[^']*'|\"[^\"]*\"|[^\s'\":,()]+)"
_PARAMETER: Final = re.compile(
    rf"""
    (?P<name>[A-Za-z_][A-Za-z_0-9]{{0,63}}) \s+ (?P<kind>[a-z]+)
    (?: \s+ in \s* \( (?P<choices> \s* {_LITERAL} (?: \s*,\s* {_LITERAL} )* \s* ) \) )?
    (?: \s+ from \s+ (?P<low>{_LITERAL}) \s+ to \s+ (?P<high>{_LITERAL}) )?
    (?: \s* = \s* (?P<default>{_LITERAL}) )?
    (?: \s* : \s* (?P<about>.*) )?
    """,
    re.VERBOSE | re.ASCII,
)
_EACH: Final = re.compile(_LITERAL)
_HINT: Final = "-- parameter limit double from 0 to 100 = 30: What it means."


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that an instance has to give, unless there is a default. `choices`: it is one of
    these; none: any. `low` and `high`: of numbers, both included."""

    name: str
    kind: Kind
    about: str = ""
    default: Value | None = None
    choices: tuple[Value, ...] = ()
    low: float | None = None
    high: float | None = None

    def value(self, given: Value | None) -> Value:
        """What is given, or the default, if it may be; TemplateError."""
        where = f"parameter '{self.name}'"
        if given is None:
            given = self.default
        if given is None:
            raise TemplateError("has no value", where=where, hint=self.about or None)
        found = read(self.kind, given, where)
        if self.choices and found not in self.choices:
            raise TemplateError(
                f"is {found!r}", where=where, hint=f"one of {', '.join(map(repr, self.choices))}"
            )
        if (
            self.low is not None
            and self.high is not None
            and not (self.low <= float(found) <= self.high)
        ):
            raise TemplateError(
                f"{found} is out of range", where=where, hint=f"from {self.low:g} to {self.high:g}"
            )
        return found

    @property
    def example(self) -> Value:
        """A value that fits."""
        if self.default is not None:
            return self.default
        if self.choices:
            return self.choices[0]
        if self.low is None:
            return EXAMPLES[self.kind]
        return int(self.low) if self.kind in (Kind.INT, Kind.LONG) else self.low

    def as_json(self) -> dict[str, Any]:
        """For a form."""
        return {
            "name": self.name, "type": self.kind.value, "about": self.about,
            "default": self.default, "choices": list(self.choices), "low": self.low,
            "high": self.high,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Template:
    """An app text with parameters; its own name is not the name of an app."""

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    text: str


def template_of(text: str) -> Template:
    """What a template says of itself; TemplateError with line and hint."""
    names, abouts, parameters = list[str](), list[str](), list[Parameter]()
    for number, key, said in _head(text):
        where = f"line {number}"
        if key == "template":
            names.append(said)
        elif key == "about":
            abouts.append(said)
        else:
            parameters.append(_parameter(said, where))
    if len(names) != 1 or not _NAME.fullmatch(names[0]):
        raise TemplateError(
            "a template has one name", where="line 1",
            hint="-- template: Room too hot   (letters, digits, blanks, _ . -, at most 80)",
        )  # fmt: skip
    known = [one.name for one in parameters]
    twice = next((name for name in known if known.count(name) > 1 or name == APP), None)
    if twice is not None:
        raise TemplateError(f"there are two parameters '{twice}'", hint=f"'{APP}' is always there")
    if len(parameters) > MAX_PARAMETERS:
        raise TemplateError(f"a template has at most {MAX_PARAMETERS} parameters")
    return Template(names[0], " ".join(abouts), tuple(parameters), text)


def _head(text: str) -> Iterator[tuple[int, str, str]]:
    """The comments that stand in front of everything else."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("--"):
            return
        found = _LINE.match(line.rstrip())
        if found is not None:
            yield number, found[1], found[2]


def _parameter(said: str, where: str) -> Parameter:
    found = _PARAMETER.fullmatch(said)
    if found is None:
        raise TemplateError(f"this is no parameter: {said!r}", where=where, hint=_HINT)
    try:
        kind = Kind(found["kind"])
    except ValueError:
        kinds = ", ".join(Kind)
        raise TemplateError(
            f"there is no type '{found['kind']}'", where=where, hint=kinds
        ) from None
    if found["low"] is not None and kind not in NUMBERS:
        raise TemplateError(f"a {kind} has no 'from … to …'", where=where, hint=_HINT)

    def value(literal: str) -> Value:
        is_quoted = literal[0] in "'\""
        return read(kind, literal[1:-1] if is_quoted else literal, where)

    choices = tuple(value(one[0]) for one in _EACH.finditer(found["choices"] or ""))
    bounds = [
        None if each is None else float(value(each)) for each in (found["low"], found["high"])
    ]
    made = Parameter(found["name"], kind, found["about"] or "", None, choices, *bounds)
    if found["default"] is None:
        return made
    default = made.value(value(found["default"]))
    return Parameter(found["name"], kind, found["about"] or "", default, choices, *bounds)
