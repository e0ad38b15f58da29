"""What services tell each other over the bus's control topics, and where.

All of it may get lost: nothing that has to be right rests on it. It is JSON, so that people can
listen in.
"""

from __future__ import annotations

from typing import Final

import msgspec

from lockstep.bus import LogName, control_subject
from lockstep.control.health import ConnectorHealth
from lockstep.events import Fault, Generation, Life, LockstepError
from lockstep.siddhiql import SiddhiQLError
from lockstep.store import Deployment

HEARTBEATS: Final = control_subject("heartbeat")
DEPLOYMENTS_CHANGED: Final = control_subject("deployments")


def log_of(deployment: Deployment) -> LogName:
    """The app's own logs: its input log, and its output log where it is one unit."""
    return LogName(deployment.app, since_ms=deployment.origin.logs_since_ms)


def question_subject(unit: str) -> str:
    """Where the leader of a unit (`AppView.key`) answers on-demand queries."""
    return control_subject("query", unit)


def command_subject(unit: str) -> str:
    """Where the leader of a unit takes commands (hand over, snapshot)."""
    return control_subject("command", unit)


def snapshot_subject(unit: str, node: str) -> str:
    """Where a replica takes a revision for its leader."""
    return control_subject("snapshot", unit, node)


def presence_subject(service: str, node: str) -> str:
    """Where the living process of this node id says which one it is."""
    return control_subject("presence", service, node)


def redelivery_subject(app: str) -> str:
    """Where the publisher that delivers an app takes rows of the error store again."""
    return control_subject("redeliver", app)


def erasure_subject(app: str) -> str:
    """Where the publisher that writes an app's archive erases rows of it."""
    return control_subject("erase", app)


PAST_FOLDING: Final = "folding"
PAST_GOING_OVER: Final = "going over"
PAST_DONE: Final = "done"
PAST_FAILED: Final = "failed"
PAST_NONE: Final = "none"


# Thousands of these come with each heartbeat, and no cycle can be in them: the collector need not
# look (gc=False).
class PastStatus(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How far a replica has folded the past that its app is to begin with, in which desired state
    (`generation`).

    `phase`: folding, going over, done, or failed (`why`). `position`, `up_to`: of the input log
    whose past it is. `events` were folded, in `took_ms`; `rows` were given; `refused` events became
    dead letters then, and are counted alone; `ignored` ones are of streams that the text does not
    have; `missing` ones are in the archive no more. `kept_to`: from there another leader would go
    on. `resumed_from`: from there this one has; `resumed_events` of the events others had folded.
    """

    generation: int
    phase: str = "folding"
    position: int = 0
    up_to: int = 0
    events: int = 0
    rows: int = 0
    refused: int = 0
    ignored: int = 0
    missing: int = 0
    took_ms: int = 0
    results: str = ""
    why: str = ""
    kept_to: int = 0
    resumed_from: int = 0
    resumed_events: int = 0

    def has_failed_in(self, generation: int) -> bool:
        """It is not tried again."""
        return self.phase == PAST_FAILED and self.generation == generation

    @property
    def is_under_way(self) -> bool:
        """Another leader would fold some of it again."""
        return self.phase in (PAST_FOLDING, PAST_GOING_OVER)


FAILING: Final = "failing"
"""The role of a replica that has failed and does not run again yet."""
STOPPED: Final = "stopped: "
"""With this the trouble of a replica begins that folds nothing more, as too much went over limits.
"""


class GroupStatus(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How one replica of one (app, group, partition) is doing.

    `settled`: all outputs up to this input position are durable, as far as this replica knows.
    `published`: identity of the last row in the output log, as "position.ordinal".
    `deployed_ms`, `generation`, `begins_behind`: the life in which its state began, and where.
    `standby`: hot or warm.
    `behind_ms`: for how long a standby has not folded what is published.
    `began_empty`: what did not fit of the state before, as who cut over to it knows.
    `state_rows`: how much windows and tables hold; `state_full`: no more events until it is less.
    `events_per_s`, `busy_permille`: what it has folded lately, and its share of time in that.
    `unfoldable`: the input position that its worker dies of; 0: there is none.
    `past`: what it folds, or has folded, before the app goes on with it.
    `rows_per_s`: rows of a leader that went into the output log lately. `latency_p50_ms`,
    `latency_p99_ms`: of them, from the door's taking their event until they were durable there;
    of rows of one append all count as late as the oldest. 0: nothing came, or it does not lead.
    `turned_ms`: when it last began or ceased to lead, by its own clock; `ended`: why it last
    ceased, `ended_planned`: as somebody wanted it so.
    """

    app: str
    group: str
    partition: int
    version: str
    deployed_ms: int
    role: str
    position: int
    log_end: int
    epoch: int = 0
    settled: int = 0
    published: str | None = None
    held_rows: int = 0
    ready: bool = False
    trouble: str | None = None
    generation: int = 0
    standby: str = "hot"
    behind_ms: int = 0
    state_rows: int = 0
    state_full: bool = False
    begins_behind: int = 0
    began_empty: tuple[str, ...] = ()
    events_per_s: int = 0
    busy_permille: int = 0
    unfoldable: int = 0
    past: PastStatus | None = None
    rows_per_s: float = 0.0
    latency_p50_ms: int = 0
    latency_p99_ms: int = 0
    turned_ms: int = 0
    ended: str = ""
    ended_planned: bool = False

    @property
    def leads(self) -> bool:
        """It publishes, as far as it knows."""
        return self.role == "active"

    @property
    def has_stopped(self) -> bool:
        """It folds nothing more until a limit is raised, or another text goes on with its state."""
        return self.trouble is not None and self.trouble.startswith(STOPPED)

    @property
    def state(self) -> Generation:
        """Which state it folds, as the output log bears it."""
        return Generation(Life(self.deployed_ms, self.generation), self.begins_behind)

    @property
    def lag(self) -> int:
        """Records behind the input log's end."""
        return max(0, self.log_end - self.position)


class SinkStatus(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How far a sink has delivered an output log, and what keeps it from going on.

    `rows_per_s`: what it has taken lately. `latency_p50_ms`, `latency_p99_ms`: of those rows, from
    the door's taking their event until the sink had taken them; of a batch all count as late as
    the oldest. 0: nothing came, or nobody knew.
    """

    app: str
    sink: str
    sequence: int
    log_end: int = 0
    trouble: str | None = None
    rows_per_s: float = 0.0
    latency_p50_ms: int = 0
    latency_p99_ms: int = 0


class Heartbeat(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sign of life of one service of one node, with what it carries.

    `incarnation`: of the process, whatever its node is called; `since_ms`: when it began.
    `host`, `zone`: where it runs; empty: not told. `cpu_percent`: how busy its host is.
    `version`: of Lockstep. `process_cpu_percent` (100: one core), `resident_bytes`: what the
    process takes, with all that it started; None: nobody knows. Services of one process tell the
    same. `connectors`: the sources that it reads, or the sinks that it delivers to.
    `knows_numbers`: of sinks (`Deployment.sinks`); earlier releases number them by their places.
    """

    node: str
    service: str
    url: str
    sent_ms: int
    interval_ms: int
    leading: bool = False
    draining: bool = False
    groups: tuple[GroupStatus, ...] = ()
    sinks: tuple[SinkStatus, ...] = ()
    incarnation: str = ""
    since_ms: int = 0
    host: str = ""
    zone: str = ""
    cpu_percent: int = 0
    version: str = ""
    process_cpu_percent: int | None = None
    resident_bytes: int | None = None
    connectors: tuple[ConnectorHealth, ...] = ()
    knows_numbers: bool = False


class OnDemandQuestion(msgspec.Struct, frozen=True):
    """An on-demand query for the leader of an app; one that writes is applied once per
    `request_id`.
    """

    query: str
    request_id: str | None = None


class OnDemandAnswer(msgspec.Struct, frozen=True):
    """Its rows with (name, type) of each column, how many rows it changed (None: it only read), or
    what was wrong (`user_error`: with the query).

    `position`: where in the input log the answer holds, or where the write was applied.
    """

    rows: list[list[object]] = []
    columns: list[tuple[str, str]] = []
    position: int = 0
    rows_changed: int | None = None
    error: str | None = None
    user_error: bool = False
    hint: str | None = None
    line: int | None = None
    column: int | None = None


def refusal_of(error: LockstepError) -> OnDemandAnswer:
    """Why a query has no rows, and where in it that stands."""
    placed = error if isinstance(error, SiddhiQLError) else None
    return OnDemandAnswer(
        error=error.message,
        hint=error.hint,
        user_error=error.fault is Fault.USER,
        line=None if placed is None else placed.line,
        column=None if placed is None else placed.column,
    )


class Command(msgspec.Struct, frozen=True):
    """Something an operator asks of a leader: `hand_over` (to a node) or `snapshot`, which a leader
    asks of a standby that has folded up to `position`. `reach` asks it for no more than that.
    """

    name: str
    node: str | None = None
    position: int = 0


class Redelivery(msgspec.Struct, frozen=True):
    """Numbers of dead letters whose rows shall go to their sinks again."""

    sequences: list[int]


class Redelivered(msgspec.Struct, frozen=True):
    """Those delivered, gone from the error store, and why the others were not."""

    delivered: list[int]
    refused: dict[int, str] = {}


class Erasure(msgspec.Struct, frozen=True):
    """Rows of a stream that the archive shall forget: those of which `where` (SQL) is true."""

    stream: str
    where: str


class Erased(msgspec.Struct, frozen=True):
    """How many rows went, out of how many tables; or what was wrong (`user_error`: with what was
    asked). `skipped`: tables that have no such column, so no such row."""

    rows: int = 0
    error: str | None = None
    user_error: bool = False
    tables: int = 0
    skipped: tuple[str, ...] = ()


class CommandAnswer(msgspec.Struct, frozen=True):
    """What came of a command. Where it was not done: whose fault that is, and whether the same
    command may succeed in a moment.
    """

    done: bool
    message: str
    fault: Fault = Fault.USER
    retryable: bool = False

    @staticmethod
    def of_error(error: LockstepError) -> CommandAnswer:
        """Not done, as the error has it."""
        return CommandAnswer(False, str(error), error.fault, error.retryable)
