"""Test files: an app, what is sent to it call by call, and what each call must bring.

The format stands at `ScenarioFile`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lockstep.events import Fault, LockstepError
from lockstep.testing.written import first_of, goes_on, more_of, written

_HEAD = re.compile(r"^--- test(?:: *(.*))?$")
_CALL = re.compile(
    r"""(?P<text>(?:(?<!\w)'(?:[^']|'')*'|(?<!\w)"[^"]*"|(?!=>).)*)(?:=>(?P<expected>.*))?"""
)
"""A call, and what it must bring where that stands behind it: an arrow in quotes is none."""


class ScenarioError(LockstepError):
    """A test file that cannot be read; `where` is its line."""

    fault = Fault.USER


@dataclass
class Call:
    """One call line with the lines it must bring (stripped, without their `=>`)."""

    line: int
    text: str
    expected: list[str] = field(default_factory=list)
    expected_at: list[int] = field(default_factory=list)
    """The numbers of the lines that hold the expectations."""


@dataclass
class Scenario:
    """One `--- test:` part."""

    title: str
    app_text: str
    calls: list[Call] = field(default_factory=list)
    watched: dict[str, int] = field(default_factory=dict)
    """The streams that are shown, each with the line that says so."""


@dataclass
class ScenarioFile:
    """The parts of a file; `app_text` is None where the app stands in a file beside it.

        <the app's text>
        --- test: what it shows
        @watch Out
        S 1000 a 10 | 1000 b 20
          => q: X 1000[a, 10]  C 1000[b, 20]
          => -> Out: 1000[b, 20]

    A call line without indent is one call: a stream, a time in ms (`-`: the clock) and values. A
    bar joins events that arrive together, a time first in each. Other calls: `@advance 5 sec`,
    `@query <text>`, `@publish <topic> <payload>`, `@snap`, `@restore`. Indented lines are what
    the call brings, in order: a query's chunk with its expired (X) and current (C) events, a
    watched stream's chunk (`->`), the rows of an on-demand query (`result:`), a published message
    (`topic <name>:`), a message no source could read (`refused:`), a dropped event (`fault:`),
    an on-demand query that failed (`error:`). Lines that begin with a bar go on with the one above
    (see `written`). Named queries are always
    shown; streams after `@watch`. `#` starts a comment line. A file `x.test` holds the tests of
    `x.siddhi` beside it; several `--- test:` parts start a fresh app each.
    """

    app_text: str | None
    scenarios: list[Scenario]
    lines: list[str]


def has_tests(text: str) -> bool:
    """Whether the text holds `--- test:` parts."""
    return bool(split_tests(text)[1])


def split_tests(text: str) -> tuple[str, str]:
    """The text of an app, and that of the tests that may stand behind it: together they are all."""
    at = 0
    for line in text.split("\n"):
        if _HEAD.match(line.removesuffix("\r")):
            return text[:at], text[at:]
        at += len(line) + 1
    return text, ""


def app_of(text: str) -> str:
    """The text of an app, without the tests that may stand behind it."""
    return text if not has_tests(text) else parse_file(text).app_text or ""


def parse_file(text: str, app_text: str | None = None) -> ScenarioFile:
    """Reads a test file; `app_text` is the app of a file that holds none itself."""
    lines = _lines(text)
    starts = [number for number, line in enumerate(lines) if _HEAD.match(line)]
    head = lines[: starts[0] if starts else len(lines)]
    own = "\n".join(head).strip("\n")
    if app_text is not None:
        _refuse_before_tests(head)
    used = own if app_text is None else app_text
    scenarios = []
    for index, start in enumerate(starts):
        end = starts[index + 1] if index + 1 < len(starts) else len(lines)
        match = _HEAD.match(lines[start])
        assert match is not None
        scenario = Scenario(match[1] or "", used)
        for number in range(start + 1, end):
            _take_line(scenario, lines[number], number + 1)
        scenarios.append(scenario)
    return ScenarioFile(own if app_text is None else None, scenarios, lines)


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.split("\n")]


def _refuse_before_tests(lines: Sequence[str]) -> None:
    """What stands there would never be played."""
    for number, line in enumerate(lines, 1):
        said = line.strip()
        if said and not said.startswith("#"):
            raise ScenarioError(
                f"{said!r} stands before the first test",
                where=f"line {number}",
                hint="a test begins with '--- test: what it shows', a comment with '#'",
            )


def _take_line(scenario: Scenario, line: str, number: int) -> None:
    stripped = line.strip()
    if not stripped or stripped.startswith("#"):
        return
    if line[0].isspace():
        if not scenario.calls:
            raise ScenarioError("an expectation before any call", where=f"line {number}")
        _take_expected(scenario.calls[-1], stripped, number)
    elif stripped.startswith("@watch"):
        names = stripped.removeprefix("@watch").replace(",", " ").split()
        scenario.watched |= {name: number for name in names if name not in scenario.watched}
    else:
        scenario.calls.append(_call(stripped, number))


def _take_expected(call: Call, text: str, number: int) -> None:
    call.expected_at.append(number)
    if not goes_on(text):
        call.expected.append(first_of(text))
    elif call.expected:
        call.expected[-1] += more_of(text)
    else:
        raise ScenarioError("nothing goes on before the first '=>'", where=f"line {number}")


def _call(text: str, number: int) -> Call:
    found = _CALL.match(text)
    assert found is not None
    expected = found["expected"]
    return Call(number, found["text"].strip(), [] if expected is None else [first_of(expected)])


def render_file(file: ScenarioFile, brought: list[list[list[str]]]) -> str:
    """The file's text with what each call of each scenario brought as its expectation.

    Whatever else stands in the file stays as it is.
    """
    calls = {
        call.line: (call, lines)
        for scenario, per_call in zip(file.scenarios, brought, strict=True)
        for call, lines in zip(scenario.calls, per_call, strict=True)
    }
    replaced = {number for call, _ in calls.values() for number in call.expected_at}
    text: list[str] = []
    for number, line in enumerate(file.lines, 1):
        if number in calls:
            call, lines = calls[number]
            text += [call.text, *(f"  {part}" for line in lines for part in written(line))]
        elif number not in replaced:
            text.append(line)
    return "\n".join(text).rstrip("\n") + "\n"
