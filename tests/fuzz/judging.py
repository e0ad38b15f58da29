"""What the answers of a door are worth: no error of its own, no secret told, nothing let in that
has to stay out. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from tests.fuzz.drawing import Shot

TRACES: Final = ("Traceback (most recent call last)", 'File "/', "site-packages/", "root:x:0:0")
SHOWN: Final = 160


class Wrong(StrEnum):
    """What an answer or a line of a log can do wrong."""

    ERROR = "server error"
    LEAK = "leak"
    ACCEPTED = "wrongly accepted"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: status 0 when the door closed without a word, -1 when it said nothing in
    time."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""

    @property
    def asks_again(self) -> bool:
        """Something is away, and is said to come back."""
        return self.status == 503 and "retry-after" in self.headers

    @property
    def lets_in(self) -> bool:
        """It did what was asked, or gave a cookie to come in with."""
        cookie = self.headers.get("set-cookie", "")
        return 100 < self.status < 300 or (
            self.status < 400 and bool(re.match(r'[^=]+=[^;"]', cookie))
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """What went wrong where."""

    wrong: Wrong
    where: str
    told: str

    def __str__(self) -> str:
        return f"{self.wrong}: {self.where}: {self.told[:SHOWN]!r}"


@dataclass(frozen=True, slots=True)
class Secrets:
    """What nobody may be told: `texts` (tokens, passwords, addresses of servers), `places` (folders
    of this machine) and `versions` (of what the doors are made of)."""

    texts: Sequence[str]
    places: Sequence[str]
    versions: Sequence[str]

    def told_in_answer(self, answer: Answer) -> Iterator[str]:
        """A version may stand in what somebody got who may see it, and in no refusal or header."""
        heads = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
        yield from _in(heads + answer.body, (*self.texts, *self.places, *TRACES))
        yield from _in(heads, self.versions)
        if answer.status >= 400:
            yield from _in(answer.body, self.versions)

    def told_in_log(self, line: str) -> Iterator[str]:
        """A log may name its own folders."""
        yield from _in(line, (*self.texts, *TRACES))


def judged(shot: Shot, answer: Answer, secrets: Secrets) -> list[Finding]:
    """All that is wrong with the answer to a shot."""
    where = f"{shot.door} {shot.operation} ({shot.kind})"
    found = []
    if answer.status >= 500:
        found.append(Finding(Wrong.ERROR, where, f"{answer.status} {answer.body}"))
    if answer.status <= 0 and not shot.may_hang_up:
        found.append(Finding(Wrong.ERROR, where, "no answer"))
    if shot.must_fail and answer.lets_in:
        found.append(Finding(Wrong.ACCEPTED, where, f"{answer.status} {answer.body}"))
    found += [Finding(Wrong.LEAK, where, told) for told in secrets.told_in_answer(answer)]
    return found


def judged_log(node: str, lines: Iterable[str], secrets: Secrets) -> list[Finding]:
    """All that is wrong with what a process wrote meanwhile; an error in its log is one of its
    own."""
    found = []
    for line in lines:
        found += [Finding(Wrong.LEAK, f"log of {node}", told) for told in secrets.told_in_log(line)]
        if '"level": "error"' in line:
            found.append(Finding(Wrong.ERROR, f"log of {node}", line))
    return found


def taken(shots: Sequence[tuple[Shot, Answer]]) -> tuple[int, list[Finding]]:
    """How many events were accepted; and what was accepted twice under one key."""
    events, firsts = 0, set()
    found = []
    for shot, answer in shots:
        if not 200 <= answer.status < 300:
            continue
        told = _object(answer.body)
        if "accepted" not in told or told.get("duplicate"):
            continue
        events += int(str(told["accepted"]))
        if shot.key and shot.key in firsts:
            found.append(Finding(Wrong.ACCEPTED, f"key {shot.key}", "two sends under one key"))
        firsts.add(shot.key)
    return events, found


def _object(text: str) -> Mapping[str, object]:
    try:
        told = json.loads(text)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _in(text: str, words: Iterable[str]) -> Iterator[str]:
    for word in words:
        at = text.find(word)
        if at >= 0:
            yield text[max(0, at - 60) : at + len(word) + 60]
