"""Test files: an app, what is sent to it call by call, and what each call must bring.

The format stands at `ScenarioFile`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lockstep.events import Fault, LockstepError

_HEAD = re.compile(r"^--- test(?:: *(.*))?$")


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
    watched: tuple[str, ...] = ()


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
    an on-demand query that failed (`error:`). Named queries are always
    shown; streams after `@watch`. `#` starts a comment line. A file `x.test` holds the tests of
    `x.siddhi` beside it; several `--- test:` parts start a fresh app each.
    """

    app_text: str | None
    scenarios: list[Scenario]
    lines: list[str]


def has_tests(text: str) -> bool:
    """Whether the text holds `--- test:` parts."""
    return any(_HEAD.match(line) for line in _lines(text))


def app_of(text: str) -> str:
    """The text of an app, without the tests that may stand behind it."""
    return text if not has_tests(text) else parse_file(text).app_text or ""


def parse_file(text: str, app_text: str | None = None) -> ScenarioFile:
    """Reads a test file; `app_text` is the app of a file that holds none itself."""
    lines = _lines(text)
    starts = [number for number, line in enumerate(lines) if _HEAD.match(line)]
    own = "\n".join(lines[: starts[0] if starts else len(lines)]).strip("\n")
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


def _take_line(scenario: Scenario, line: str, number: int) -> None:
    stripped = line.strip()
    if not stripped or stripped.startswith("#"):
        return
    if line[0].isspace():
        if not scenario.calls:
            raise ScenarioError("an expectation before any call", where=f"line {number}")
        scenario.calls[-1].expected.append(stripped.removeprefix("=>").strip())
        scenario.calls[-1].expected_at.append(number)
    elif stripped.startswith("@watch"):
        scenario.watched += tuple(stripped.removeprefix("@watch").replace(",", " ").split())
    else:
        call, arrow, expected = stripped.partition("=>")
        scenario.calls.append(Call(number, call.strip(), [expected.strip()] if arrow else []))


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
            text += [call.text, *(f"  => {line}" for line in lines)]
        elif number not in replaced:
            text.append(line)
    return "\n".join(text).rstrip("\n") + "\n"
