"""The routes of scheduled scripts, for the coordinator's OpenAPI document."""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

from lockstep.frame.openapi import Described


class ScriptFile(TypedDict):
    """A script: its language is told by the end of the file's name, .sql or .py."""

    file: str
    text: str


class DeployScripts(TypedDict):
    """All of them are taken, or none. `dry_run`: only say whether they would be."""

    scripts: list[ScriptFile]
    dry_run: NotRequired[bool]


class BatchRun(TypedDict):
    """A run of a version of a script for a due time. `after` and `up_to`: which part of the
    archive was new to it, by log."""

    script: str
    version: int
    digest: str
    due_ms: int
    by_hand: bool
    state: str
    not_before_ms: int
    attempts: int
    deaths: int
    missed: int
    holder: str
    after: dict[str, int] | None
    up_to: dict[str, int] | None
    since_ms: int
    begun_ms: int | None
    ended_ms: int | None
    rows: int | None
    shape: str
    is_kept: bool
    is_unwanted: bool
    error: str | None
    log: list[str]


class ScriptLine(TypedDict):
    """A script, in short."""

    script: str
    language: str
    version: int
    cron: str | None
    output: str
    paused: bool
    next_ms: int | None


class ListedScript(ScriptLine):
    """With its last run."""

    last: BatchRun | None


class ListedScripts(TypedDict):
    """All scripts."""

    scripts: list[ListedScript]


class DeployedScripts(TypedDict):
    """What came of a deployment."""

    scripts: list[dict[str, Any]]


class ScriptVersion(TypedDict):
    """A text that was deployed."""

    version: int
    digest: str
    deployed_ms: int


class OneVersion(ScriptVersion):
    """With its text."""

    script: str
    text: str


class OneScript(ScriptLine):
    """A script with its text and the versions that are kept."""

    text: str
    retries: int
    time_limit_ms: int | None
    missed: str
    keep_ms: int | None
    versions: list[ScriptVersion]


class BatchRuns(TypedDict):
    """The newest first."""

    script: str
    runs: list[BatchRun]


class RemovedScript(TypedDict):
    """It is gone."""

    script: str


_SCRIPT: Final = "/v1/batch/{script}"
BATCH: Final = (
    Described("GET", "/v1/batch", "All scheduled scripts.", ListedScripts),
    Described("POST", "/v1/batch", "Deploys scripts.", DeployedScripts, DeployScripts),
    Described("GET", _SCRIPT, "A script with its text.", OneScript),
    Described("GET", f"{_SCRIPT}/versions/{{number}}", "A version's text.", OneVersion),
    Described("DELETE", _SCRIPT, "Forgets it, and its runs.", RemovedScript),
    Described("GET", f"{_SCRIPT}/runs", "Its runs.", BatchRuns, query=("limit",)),
    Described("POST", f"{_SCRIPT}/run", "Runs it once, now.", BatchRun),
    Described("POST", f"{_SCRIPT}/pause", "Nothing of it is due any more.", ScriptLine),
    Described("POST", f"{_SCRIPT}/resume", "It is due again.", ScriptLine),
    Described("POST", f"{_SCRIPT}/cancel", "Ends its run.", BatchRun),
)
