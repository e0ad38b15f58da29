"""Scripts, their versions and runs as values, and as they stand in the store. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

import msgspec

from lockstep.batch.header import Header, Language, header_of
from lockstep.events.typed import from_json
from lockstep.store import BatchEntry

SCRIPT: Final = "script"
VERSION: Final = "version"
RUN: Final = "run"

Marks = Mapping[str, int]
"""Up to which record something has the logs of the archive, by the log's path."""


class State(StrEnum):
    """Of a run."""

    DUE = "due"
    """Waits for its first attempt, or for the next one."""
    RUNNING = "running"
    SENDING = "sending"
    """Its rows are kept; they are on their way to a stream."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN: Final = frozenset({State.DUE, State.RUNNING, State.SENDING})
"""Something is left to do."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script as it is deployed. `from_ms`: times up to then are not due any more, because they
    were before this version, while it was paused, or have their runs."""

    name: str
    version: int
    digest: str
    deployed_ms: int
    from_ms: int
    is_paused: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    """A text that was deployed; `number` counts from 1."""

    script: str
    number: int
    digest: str
    language: Language
    text: str
    deployed_ms: int

    @property
    def header(self) -> Header:
        """What it says of itself."""
        return header_of(self.text, self.language, self.script)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a version for a due time: its identity.

    `after` and `up_to` are noted when it first begins: whoever runs it again looks at the same part
    of the archive. `is_kept`: its rows are in its table; so what was new to it is so to no other.
    `attempts` were begun; `deaths` of them ended with who ran them. `missed`: so many older times
    were left out for it.
    """

    script: str
    version: int
    digest: str
    due_ms: int
    by_hand: bool = False
    state: State = State.DUE
    not_before_ms: int = 0
    attempts: int = 0
    deaths: int = 0
    missed: int = 0
    holder: str = ""
    after: Marks | None = None
    up_to: Marks | None = None
    since_ms: int = 0
    begun_ms: int | None = None
    ended_ms: int | None = None
    rows: int | None = None
    shape: str = ""
    is_kept: bool = False
    is_unwanted: bool = False
    """Somebody wants it cancelled."""
    error: str | None = None
    log: tuple[str, ...] = field(default=())

    @property
    def is_open(self) -> bool:
        """Something is left to do."""
        return self.state in OPEN

    @property
    def identity(self) -> str:
        """What tells it from all other runs."""
        return f"{self.script}/{self.digest[:12]}/{self.due_ms}"


Thing = TypeVar("Thing", Script, Version, Run)


def entry_of(one: Script | Version | Run, revision: int = 0) -> BatchEntry:
    """For the store, in the place of that revision."""
    text = msgspec.json.encode(one).decode()
    if isinstance(one, Script):
        return BatchEntry(SCRIPT, one.name, 0, text, revision, is_open=True)
    if isinstance(one, Version):
        return BatchEntry(VERSION, one.script, one.number, text, revision)
    return BatchEntry(RUN, one.script, one.due_ms, text, revision, is_open=one.is_open)


def read_entry(entry: BatchEntry, kind: type[Thing]) -> Thing:
    """As it was stored."""
    return from_json(entry.text, kind)
