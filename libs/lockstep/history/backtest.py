"""Any version of an app over any span of what came in: what would it have given? Blocking.

The input of a span is folded on a fresh state, by as many Spark tasks as the planner cuts the app
into. The rows become Delta tables of the shape of those that were published, and are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import msgspec

from lockstep.archive import naming
from lockstep.archive.keeping import SideArchive
from lockstep.archive.place import Place
from lockstep.archive.reading import InputReader, Span, lives_of
from lockstep.events.typed import from_msgpack
from lockstep.history.comparing import Compared, Rows, compared
from lockstep.history.errors import HistoryError
from lockstep.history.folding import Done, Task, fold_task, linked
from lockstep.history.gaps import check_gaps
from lockstep.operators.limits import Limits
from lockstep.plan import AppPlan, plan_of
from lockstep.plan.fleet import fleet_of
from lockstep.settings import Settings

Run = Callable[[Callable[[bytes], bytes], Sequence[bytes]], Sequence[bytes]]
"""Calls a function with each request, somewhere, and gives the answers."""


@dataclass(frozen=True)
class Wanted:
    """What to run over what: `app` is whose input, without it the one of the text's name. Times in
    epoch milliseconds, None: from the beginning, to the end. `warm_up_ms`: what is folded before
    `from_ms`, whose rows do not count. `despite_gaps`: also where the archive lacks something."""

    text: str
    app: str | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    warm_up_ms: int = 0
    parallel: int = 1
    compare: bool = True
    despite_gaps: bool = False
    shown: int = 10


@dataclass(frozen=True)
class Report:
    """What a back-test has found; its rows stand in `results`."""

    app: str
    span: Span
    tasks: int
    done: Done
    results: str
    compared: Compared | None
    not_compared: int = 0
    """Rows behind the last one that was published and archived."""


def run_here(work: Callable[[bytes], bytes], requests: Sequence[bytes]) -> Sequence[bytes]:
    """In this process, one after another."""
    return [work(one) for one in requests]


def backtest(wanted: Wanted, place: Place, settings: Settings, run: Run, name: str) -> Report:
    """Runs it; `name` tells the run from others. HistoryError, SiddhiQLError, UnavailableError."""
    plan = plan_of(wanted.text)
    app = wanted.app or plan.name
    logs = logs_of(place, app)
    reader = InputReader(place, logs)
    fold, rows_behind = span_of(wanted, plan, reader)
    if not wanted.despite_gaps:
        check_gaps(plan, reader, fold, "--despite-gaps leaves out what is not there")
    tasks = tasks_of(wanted, plan, place, logs, reader, settings, fold, rows_behind, name)
    answers = run(fold_task, [msgspec.msgpack.encode(one) for one in tasks])
    done = _together([from_msgpack(one, Done) for one in answers])
    results = Place(tasks[0].results, place.options)
    if not wanted.compare:
        return Report(app, fold, len(tasks), done, results.folder, None)
    published = Rows(SideArchive(place, logs, naming.OUTPUT))
    given = Rows(SideArchive(results, logs, naming.OUTPUT))
    end = min(fold.up_to, published.last())
    found = compared(published, given, Span(rows_behind, end), shown=wanted.shown)
    ahead = max(0, done.rows - found.same - found.other)
    return Report(app, fold, len(tasks), done, results.folder, found, ahead)


def logs_of(place: Place, app: str) -> naming.Logs:
    """The newest life of an app. HistoryError."""
    found = lives_of(place, app)
    if not found:
        raise HistoryError(
            f"the archive has nothing of an app '{app}'",
            where=place.folder,
            hint="`lockstep archive list` says what there is; --app names whose input to take",
        )
    return found[-1]


def span_of(wanted: Wanted, plan: AppPlan, reader: InputReader) -> tuple[Span, int]:
    """What is folded, and behind which position rows count."""
    whole = reader.bounds()
    is_playback = plan.checked.is_playback

    def in_front_of(time_ms: int | None, otherwise: int) -> int:
        if time_ms is None:
            return otherwise
        first = reader.first_at(time_ms, is_playback=is_playback)
        return whole.up_to if first is None else first - 1

    up_to = in_front_of(wanted.to_ms, whole.up_to)
    rows_behind = in_front_of(wanted.from_ms, whole.after)
    after = rows_behind
    if wanted.from_ms is not None and wanted.warm_up_ms:
        after = in_front_of(wanted.from_ms - wanted.warm_up_ms, whole.after)
    if after >= up_to:
        raise HistoryError("there is nothing in the archive between these times")
    return Span(after, up_to), rows_behind


def tasks_of(
    wanted: Wanted, plan: AppPlan, place: Place, logs: naming.Logs, reader: InputReader,
    settings: Settings, span: Span, rows_behind: int, name: str,
) -> list[Task]:  # fmt: skip
    """Who folds which units; `name` is that of the run."""
    fleet = fleet_of(plan, wanted.parallel) if wanted.parallel > 1 else None
    is_cut = fleet is not None and not fleet.is_single
    parts = linked(fleet) if fleet is not None and is_cut else [()]
    limits = settings.limits
    held = Limits(
        limits.event_rows, limits.feedback_depth, limits.function_steps, limits.value_size,
        limits.group_rows, limits.function_bytes,
    )  # fmt: skip
    return [
        Task(
            place.folder, dict(place.options), logs.app, logs.since_ms,
            dict(reader.pinned.versions), span.after, span.up_to, wanted.text, wanted.parallel,
            units, rows_behind, place.at(f"{naming.BACKTESTS}/{name}"),
            settings.processor.dedup_max_ids, astuple(held), settings.places.folder,
        )
        for units in parts
    ]  # fmt: skip


def _together(done: Sequence[Done]) -> Done:
    """Every task reads all records; each row is one task's."""
    return Done(
        max(one.events for one in done),
        sum(one.rows for one in done),
        sum(one.refused for one in done),
        max(one.missing for one in done),
        max(one.position for one in done),
    )


def told(report: Report) -> Mapping[str, Any]:
    """A report for programs."""
    found = report.compared
    numbers = {} if found is None else {
        "same": found.same, "missing": found.missing, "other": found.other,
        "not_compared": report.not_compared,
    }  # fmt: skip
    return {
        "app": report.app, "after": report.span.after, "up_to": report.span.up_to,
        "tasks": report.tasks, "events": report.done.events, "rows": report.done.rows,
        "refused": report.done.refused, "erased": report.done.missing, **numbers,
        "results": report.results,
    }  # fmt: skip
