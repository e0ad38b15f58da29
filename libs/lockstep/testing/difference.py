"""Says how what came differs from what was expected: which line, which event, which value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import chain, repeat

from lockstep.plan import QueryNode, plan_of
from lockstep.testing.lines import ShownEvent, ShownLine, read_line
from lockstep.testing.reasons import without_reason
from lockstep.testing.scenario import Scenario

NOTES_PER_LINE = 8
"""Differing events of one line that are told one by one."""

_BREAK = re.compile(r"\s*\n\s*")
_HEAD = re.compile(r"([^:\n]+:)[^\S\n]+")

Names = Mapping[str, Sequence[str]]
"""The attribute names of each stream and query."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A call that did not bring what it must."""

    line: int
    call: str
    expected: tuple[str, ...]
    actual: tuple[str, ...]
    names: Names = field(default_factory=dict)

    def text(self) -> str:
        """Expected lines that did not come with `-`, others that came with `+`, equal ones plain.

        Below a pair of them, with `?`, each event that differs and how.
        """
        marked = [
            f"{mark} {start}{part}"
            for mark, line in self._marked()
            for start, part in zip(chain(("",), repeat("| ")), line.split("\n"), strict=False)
        ]
        return "\n".join([f"line {self.line}: {self.call}", *marked])

    def notes(self) -> list[str]:
        """Which events differ and how."""
        return [line for mark, line in self._marked() if mark == "  ?"]

    def _marked(self) -> Iterator[tuple[str, str]]:
        want, got = _compared(self.expected, self.actual)
        for tag, from_, to, start, end in SequenceMatcher(None, want, got, False).get_opcodes():
            if tag == "equal":
                yield from (("   ", line) for line in self.actual[start:end])
            else:
                yield from self._changed(self.expected[from_:to], self.actual[start:end])

    def _changed(self, want: Sequence[str], got: Sequence[str]) -> Iterator[tuple[str, str]]:
        for index in range(max(len(want), len(got))):
            if index < len(want):
                yield "  -", want[index]
            if index < len(got):
                yield "  +", got[index]
            if index < min(len(want), len(got)):
                notes = explained(want[index], got[index], self.names)
                yield from (("  ?", note) for note in notes)


def differences(
    scenario: Scenario, brought: Sequence[Sequence[str]], *, in_order: bool = True
) -> list[Difference]:
    """The calls whose lines are not as expected; the reasons of faults do not count, nor blanks
    outside of values and messages.

    Without `in_order` the events that one call brings may stand in any order and in any chunks.
    """
    found = [
        (call, lines)
        for call, lines in zip(scenario.calls, brought, strict=True)
        if _differs(call.expected, lines, in_order)
    ]
    names = attribute_names(scenario.app_text) if found else {}
    return [
        Difference(call.line, call.text, tuple(call.expected), tuple(lines), names)
        for call, lines in found
    ]


def attribute_names(app_text: str) -> Names:
    """The attribute names of each stream and query of an app."""
    plan = plan_of(app_text)
    schemas = {
        node.name: node.query.output for node in plan.nodes if isinstance(node, QueryNode)
    } | dict(plan.checked.streams)
    return {name: [a.name for a in schema.attributes] for name, schema in schemas.items()}


def explained(expected: str, actual: str, names: Names) -> list[str]:
    """What differs between two lines, event by event; nothing where they tell of other things."""
    want, got = read_line(without_reason(expected)), read_line(without_reason(actual))
    if want is None or got is None or want.head != got.head:
        return []
    attributes = names.get(want.source, ())
    notes: list[str] = []
    for kind, title in (("X", "expired event"), ("C", "current event"), ("", want.word)):
        notes += _events(want.of_kind(kind), got.of_kind(kind), title, attributes)
    if len(notes) > NOTES_PER_LINE:
        notes[NOTES_PER_LINE:] = [f"and {len(notes) - NOTES_PER_LINE} more"]
    return notes


def _events(
    want: Sequence[ShownEvent], got: Sequence[ShownEvent], title: str, attributes: Sequence[str]
) -> Iterator[str]:
    for tag, from_, to, start, end in SequenceMatcher(None, want, got, False).get_opcodes():
        if tag == "equal":
            continue
        pairs = min(to - from_, end - start)
        for index in range(pairs):
            first, second = want[from_ + index], got[start + index]
            what = ", ".join(_values(first, second, attributes))
            yield f"{title} {start + index + 1}: {what}"
        for index in range(from_ + pairs, to):
            yield f"{title} {index + 1} is missing: {want[index].text}"
        for index in range(start + pairs, end):
            yield f"{title} {index + 1} was not expected: {got[index].text}"


def _values(want: ShownEvent, got: ShownEvent, attributes: Sequence[str]) -> Iterator[str]:
    if want.time != got.time:
        yield f"its time is {got.time}, expected {want.time}"
    if len(want.values) != len(got.values):
        yield f"it has {len(got.values)} values, expected {len(want.values)}"
        return
    for index, (first, second) in enumerate(zip(want.values, got.values, strict=True)):
        if first != second:
            named = len(attributes) == len(got.values)
            name = attributes[index] if named else f"value {index + 1}"
            yield f"{name} is {second}, expected {first}"


def _differs(expected: Sequence[str], actual: Sequence[str], in_order: bool) -> bool:
    want, got = _compared(expected, actual, in_order)
    return want != got


def _single_events(lines: Sequence[str]) -> list[str]:
    """Each event in a line of its own, sorted; several in one JSON payload, too."""
    found: list[str] = []
    for line in lines:
        topic, _, payload = line.partition(": ")
        if topic.startswith("topic ") and payload.startswith(("[", "{")):
            found += [f"{topic}: {each}" for each in _payloads(payload)]
            continue
        shown = read_line(line)
        if shown is None:
            found.append(line)
        else:
            found += [f"{shown.head} {kind} {event.text}" for kind, event in shown.events]
    return sorted(found)


def _payloads(text: str) -> list[str]:
    try:
        read = json.loads(text)
    except ValueError:
        return [text]
    return [json.dumps(each) for each in (read if isinstance(read, list) else [read])]


def _compared(
    expected: Sequence[str], actual: Sequence[str], in_order: bool = True
) -> tuple[list[str], list[str]]:
    """Both as they are compared; without an order event by event."""
    want, got = [_normal(line) for line in expected], [_normal(line) for line in actual]
    if in_order:
        return want, _as_expected(want, got)
    want = _single_events(want)
    return want, sorted(_as_expected(want, _single_events(got)))


def _as_expected(want: Sequence[str], got: Sequence[str]) -> list[str]:
    """What goes over several lines may be expected in one, with a blank for each line break: there
    was no other way to write it once. Only where it is not expected as it stands."""
    known = frozenset(want)
    in_one = [_BREAK.sub(" ", line) for line in got]
    return [
        one if line not in known and one in known else line
        for line, one in zip(got, in_one, strict=True)
    ]


def _normal(line: str) -> str:
    """Blanks in heads, behind them and between events are one; those within values and messages
    count."""
    line = without_reason(line).strip()
    if shown := _events_in(line):
        return shown.text
    head = _HEAD.match(line)
    return f"{' '.join(head[1].split())} {line[head.end() :]}" if head else line


def _events_in(line: str) -> ShownLine | None:
    """A list in JSON looks like a row, and is none."""
    before, bracket, behind = line.partition("[")
    shown = read_line(" ".join(before.split()) + bracket + behind)
    is_message = shown is not None and shown.head != "result:" and not shown.events[0][1].time
    return None if is_message else shown
