"""What a script says of itself: comments in front of its text. Pure.

-- name: daily_summary                    in Python: # name: daily_summary
-- cron: 0 0 6 * * ? Europe/Berlin
-- output: table                          or: stream Alerts.Summary, or @sink(…) as in apps
-- retries: 3
-- time-limit: 10 min
-- missed: latest                         or: each
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final

from lockstep.batch.outputs import NoOutputError, Output, goes_on, output_of
from lockstep.batch.schedule import Schedule, schedule_of
from lockstep.events import Fault, LockstepError
from lockstep.siddhiql.durations import duration_ms
from lockstep.siddhiql.suggestions import did_you_mean

MAX_RETRIES: Final = 20
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)
_LINE: Final = re.compile(r"([A-Za-z][A-Za-z-]*)\s*:\s*(.*)")
_KEYS: Final = ("name", "cron", "output", "retries", "time-limit", "missed", "keep")


class Language(StrEnum):
    """What a script is written in."""

    SQL = "sql"
    PYTHON = "python"


COMMENTS: Final = {Language.SQL: "--", Language.PYTHON: "#"}
SUFFIXES: Final = {".sql": Language.SQL, ".py": Language.PYTHON}


class Missed(StrEnum):
    """Which of the times run that passed while nobody could run them."""

    LATEST = "latest"
    EACH = "each"


@dataclass(frozen=True, slots=True)
class Header:
    """`schedule` None: it runs when somebody says so. `time_limit_ms` None: as the settings say.
    `keep_ms` None: its rows are kept for good."""

    name: str
    language: Language
    schedule: Schedule | None
    output: Output
    retries: int
    time_limit_ms: int | None
    missed: Missed
    keep_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong in a script, and where; lines and columns count from 1."""

    line: int
    message: str
    column: int | None = None
    hint: str | None = None

    def as_json(self) -> dict[str, Any]:
        """For an answer."""
        given = {"line": self.line, "column": self.column, "message": self.message}
        return {**{key: value for key, value in given.items() if value}, "hint": self.hint}


class ScriptError(LockstepError):
    """A script that cannot be taken; `errors`: all that is wrong with it."""

    fault = Fault.USER

    def __init__(self, name: str, errors: list[Mistake]) -> None:
        first = errors[0]
        place = f"line {first.line}" + (f":{first.column}" if first.column else "")
        where = f"{name}, {place}" if name else place
        super().__init__(first.message, where=where, hint=first.hint)
        self.errors = errors


class _WrongError(Exception):
    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def header_of(text: str, language: Language, name: str = "") -> Header:
    """Of a script. `name`: where the header gives none. ScriptError with all mistakes."""
    given: dict[str, tuple[int, str]] = {}
    mistakes: list[Mistake] = []
    for line, key, value in _lines(text, COMMENTS[language]):
        if key not in _KEYS:
            if get_close_matches(key, _KEYS, n=1, cutoff=0.75):
                hint = did_you_mean(key, _KEYS)
                mistakes.append(Mistake(line, f"'{key}' is nothing a header says", hint=hint))
        elif key in given:
            mistakes.append(Mistake(line, f"'{key}' stands here twice"))
        else:
            given[key] = (line, value)

    def read(key: str, default: str, make: Any) -> Any:
        line, value = given.get(key, (1, default))
        try:
            return make(value)
        except _WrongError as wrong:
            mistakes.append(Mistake(line, wrong.message, hint=wrong.hint))
            return None

    named = read("name", name, _name)
    found = Header(
        named or "",
        language,
        read("cron", "", _schedule),
        read("output", "table", lambda value: _output(value, named or "")),
        read("retries", "3", _retries),
        read("time-limit", "", lambda value: _duration(value, "time limit")),
        read("missed", "latest", _missed),
        read("keep", "", lambda value: _duration(value, "time to keep rows")),
    )
    if mistakes:
        raise ScriptError(named or name, sorted(mistakes, key=lambda one: one.line))
    return found


def _lines(text: str, comment: str) -> Iterator[tuple[int, str, str]]:
    """(line, key, value) of the comments in front of everything else; annotations may go on in
    the lines that follow."""
    said: tuple[int, str, str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.strip()
        if plain and not plain.startswith(comment):
            break
        plain = plain.removeprefix(comment).strip()
        if said is not None and goes_on(said[2], plain):
            said = (*said[:2], f"{said[2]} {plain}")
            continue
        if said is not None:
            yield said
        found = _LINE.fullmatch(plain)
        said = None if found is None else (number, found[1].lower(), found[2].strip())
    if said is not None:
        yield said


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise _WrongError(
            f"'{value[:80]}' is no name for a script" if value else "the script has no name",
            "a letter, then letters, digits, _ and -, at most 64: -- name: daily_summary",
        )
    return value


def _schedule(value: str) -> Schedule | None:
    if not value:
        return None
    found = schedule_of(value)
    if isinstance(found, Schedule):
        return found
    raise _WrongError(found.message, found.hint)


def _output(value: str, name: str) -> Output:
    try:
        return output_of(value, name)
    except NoOutputError as error:
        raise _WrongError(error.message, error.hint) from error


def _retries(value: str) -> int:
    if not (value.isascii() and value.isdigit() and int(value) <= MAX_RETRIES):
        raise _WrongError(f"'{value}' is no number of retries", f"0 to {MAX_RETRIES}")
    return int(value)


def _duration(value: str, what: str) -> int | None:
    if not value:
        return None
    try:
        found = duration_ms(value)
    except ValueError:
        found = 0
    if found <= 0:
        raise _WrongError(f"'{value}' is no {what}", "for example 90 sec, 10 min, 1 hour")
    return found


def _missed(value: str) -> Missed:
    try:
        return Missed(value)
    except ValueError:
        raise _WrongError(
            f"'{value}' says nothing about missed runs",
            "latest: one run for all that were missed; each: a run for each",
        ) from None
