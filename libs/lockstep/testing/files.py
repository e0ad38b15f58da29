"""Runs test files: `x.siddhi` with `--- test:` parts, or `x.test` beside `x.siddhi`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockstep.events import LockstepError
from lockstep.siddhiql import SiddhiQLError
from lockstep.siddhiql.variables import names_of, with_values
from lockstep.testing.difference import Difference, differences
from lockstep.testing.play import play
from lockstep.testing.scenario import (
    Scenario,
    ScenarioError,
    ScenarioFile,
    has_tests,
    parse_file,
    render_file,
    split_tests,
)
from lockstep.testing.virtual_app import cut_into


@dataclass(frozen=True)
class Report:
    """How one test part went. `error` tells why it could not be played at all."""

    file: Path
    title: str
    differences: tuple[Difference, ...] = ()
    error: str | None = None
    cut: bool = False
    """It was played in several partitions."""
    rewritten: bool = False
    """The expectations were replaced with what came: then differences are none of a failure."""

    @property
    def passed(self) -> bool:
        """Whether every call brought what it must."""
        return self.error is None and (self.rewritten or not self.differences)

    def text(self) -> str:
        """One line, and below it every difference."""
        word = "new  " if self.rewritten else "ok   " if self.passed else "FAIL "
        lines = [f"{word}{self.file}{f': {self.title}' if self.title else ''}"]
        if self.error is not None:
            lines.append(f"  {self.error}")
        for difference in self.differences:
            lines += [f"  {line}" for line in difference.text().split("\n")]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "file": str(self.file),
            "test": self.title,
            "passed": self.passed,
            "rewritten": self.rewritten,
            "error": self.error,
            "differences": [
                {
                    "line": difference.line,
                    "call": difference.call,
                    "expected": list(difference.expected),
                    "actual": list(difference.actual),
                    "notes": difference.notes(),
                }
                for difference in self.differences
            ],
        }


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The test files among paths: files as given, folders searched, in order of name. An app's
    tests may stand in its own file, beside it, or both."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = [file for file in path.rglob("*.siddhi") if has_tests(_text(file))]
            found += sorted([*inside, *path.rglob("*.test")])
        elif path.suffix == ".siddhi":
            beside, has_own = path.with_suffix(".test"), has_tests(_text(path))
            found += [path] if has_own else []
            found += [beside] if beside.exists() or not has_own else []
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def load(file: Path, values: Mapping[str, str] | None = None) -> ScenarioFile:
    """The parts of a test file, with the values of the names in its app; raises ScenarioError."""
    parsed = _load(file)
    for scenario in parsed.scenarios:
        scenario.app_text = with_values(scenario.app_text, values or {})
    return parsed


def _load(file: Path) -> ScenarioFile:
    app = file.with_suffix(".siddhi")
    if file.suffix != ".test":
        return parse_file(_text(file))
    if not app.exists():
        raise ScenarioError(f"{file.name} tests {app.name}, which does not stand beside it")
    if not file.exists():
        raise ScenarioError(
            f"{app.name} has no tests",
            hint=f"write them behind '--- test:' at its end, or into {file.name} beside it",
        )
    return parse_file(_text(file), split_tests(_text(app))[0])


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ScenarioError(f"{file} is no text in UTF-8") from None


def run_file(
    file: Path,
    *,
    executor: str = "reference",
    update: bool = False,
    parallel: int = 1,
    values: Mapping[str, str] | None = None,
) -> list[Report]:
    """Runs the parts of a file; `update` rewrites its expectations with what came. With `parallel`
    (see VirtualApp) the events that a call brings are compared in any order. `values`: what stands
    for names in its app."""
    try:
        parsed = load(file, values)
    except (OSError, LockstepError) as error:
        return [Report(file, "", error=str(error))]
    reports, brought = [], []
    for scenario in parsed.scenarios:
        cut = parallel > 1 and _is_cut(scenario, parallel)
        try:
            lines = play(scenario, executor=executor, parallel=parallel)
        except LockstepError as error:
            reports.append(Report(file, scenario.title, error=_told(error, scenario)))
            brought.append([call.expected for call in scenario.calls])
            continue
        brought.append(lines)
        found = tuple(differences(scenario, lines, in_order=parallel == 1))
        rewritten = update and bool(found)
        reports.append(Report(file, scenario.title, found, cut=cut, rewritten=rewritten))
    if any(report.rewritten for report in reports):
        file.write_text(render_file(parsed, brought), encoding="utf-8")
    return reports


def _told(error: LockstepError, scenario: Scenario) -> str:
    """The error, and what to do where a name in the app waits for its value."""
    names = sorted(names_of(scenario.app_text))
    if not names or not isinstance(error, SiddhiQLError) or "$" not in error.message:
        return str(error)
    return f"{error}; give it: lockstep test {' '.join(f'--set {name}=…' for name in names)}"


def _is_cut(scenario: Scenario, parallel: int) -> bool:
    try:
        fleet = cut_into(scenario.app_text, parallel)
    except LockstepError:
        return False  # it will be said where it is played
    return any(group.partitions > 1 for group in fleet.groups)


def run_paths(
    paths: Sequence[Path],
    *,
    executor: str = "reference",
    update: bool = False,
    parallel: int = 1,
    values: Mapping[str, str] | None = None,
) -> list[Report]:
    """Runs every test file among the paths."""
    return [
        report
        for file in find_files(paths)
        for report in run_file(
            file, executor=executor, update=update, parallel=parallel, values=values
        )
    ]
