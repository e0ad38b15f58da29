"""The coordinator's own routes, for its OpenAPI document."""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

from lockstep.frame.log_route import WrittenLines
from lockstep.frame.openapi import Described
from lockstep_services.coordinator.connectors import ConnectorLine


class AppLine(TypedDict):
    """A deployed app, in short."""

    app: str
    version: str
    generation: int
    replicas: int
    units: int
    nodes: list[str]
    waiting: str | None
    updated_ms: int


class Apps(TypedDict):
    """All deployed apps."""

    apps: list[AppLine]


class DeployPast(TypedDict):
    """What the app folds first: from which time on (epoch milliseconds), of which app's archive,
    and where its rows go: archive, sinks, nowhere."""

    from_ms: int
    app: NotRequired[str]
    output: NotRequired[str]


class Deploy(TypedDict):
    """An app's text, and what is given with it."""

    text: str
    settings: NotRequired[dict[str, str]]
    parallel: NotRequired[int]
    past: NotRequired[DeployPast]


class DeployedPast(TypedDict):
    """What is folded: positions behind `after` up to `up_to` (0: to where the app stands)."""

    app: str
    after: int
    up_to: int
    output: str
    begins_ms: int
    archived_to: int
    ignored: list[str]


class PastProgress(TypedDict):
    """How far a past is folded. `phase`: none, waiting, folding, going over, done, failed."""

    app: str
    generation: int
    phase: str
    position: int
    up_to: int
    events: int
    rows: int
    refused: int
    ignored: int
    missing: int
    took_ms: int
    results: str
    why: str
    kept_to: int
    resumed_from: int
    resumed_events: int


class CalledOff(TypedDict):
    """`goes_on`: with what was deployed before; else it is not deployed any more."""

    app: str
    goes_on: bool


class DeployedApp(TypedDict):
    """What came of a deployment."""

    app: str
    version: str
    generation: int
    replicas: int
    units: int
    layout: int
    waiting: str | None
    created: bool
    changed: bool
    past: DeployedPast | None


class OneApp(TypedDict):
    """A deployed app."""

    app: str
    text: str
    version: str
    generation: int
    replicas: int
    settings: dict[str, str]
    created_ms: int
    updated_ms: int


class AppVersionLine(TypedDict):
    """A text that was deployed. `version`: its SHA-256. `how`: fresh, upgrade, template, restore,
    or earlier (before versions were kept). `deployed`: it is what is deployed now."""

    app: str
    number: int
    version: str
    size_bytes: int
    deployed_ms: int
    who: str
    how: str
    deployed: bool


class OneAppVersion(AppVersionLine):
    """With its text."""

    text: str


class AppVersionLines(TypedDict):
    """The newest first."""

    app: str
    versions: list[AppVersionLine]


class Undeployed(TypedDict):
    """It is gone; `purged`: with its logs and revisions."""

    app: str
    purged: bool


class AppStatus(TypedDict):
    """How an app is doing. While it goes over to a layout, `replicas` has those of the layout
    before as well."""

    app: str
    status: str
    version: str
    generation: int
    parallel: int
    layout: int
    replicas_wanted: int
    nodes: list[str]
    waiting: str | None
    units: list[dict[str, Any]]
    replicas: list[dict[str, Any]]
    sinks: list[dict[str, Any]]
    connectors: list[ConnectorLine]


class Erasing(TypedDict):
    """Which rows of an app's archive shall be forgotten: as SQL has it."""

    stream: str
    where: str


class ErasedRows(TypedDict):
    """How many went, out of how many tables; and which tables have no such column."""

    app: str
    rows: int
    tables: int
    skipped: list[str]


class ArchivedTable(TypedDict):
    """What is archived of a stream, or of the records of a log (`stream` is empty)."""

    app: str
    since_ms: int
    side: str
    stream: str
    rows: int
    size_bytes: int
    first: int | None
    last: int | None
    from_ms: int | None
    to_ms: int | None


class ArchivedTables(TypedDict):
    """What there is of an app."""

    app: str
    tables: list[ArchivedTable]


class AskedPast(TypedDict):
    """SQL over an app's archive; tables are named as its streams."""

    sql: str
    limit: NotRequired[int]


class AnsweredPast(TypedDict):
    """Its rows, column by column as named; `more`: there are others behind them."""

    app: str
    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    more: bool


class HandOver(TypedDict):
    """To which node; nothing: to any ready standby."""

    node: NotRequired[str | None]


class Commanded(TypedDict):
    """What was done."""

    message: str


class AppText(TypedDict):
    """The text of an app."""

    text: str


class Validated(TypedDict):
    """Whether it is valid; else where and why not."""

    valid: bool
    errors: list[dict[str, Any]]
    app: NotRequired[str]
    inputs: NotRequired[list[str]]
    outputs: NotRequired[list[str]]
    tables: NotRequired[list[str]]


class ToPreview(AppText):
    """And into how many partitions it would be cut; else as before."""

    parallel: NotRequired[int]


class Preview(TypedDict):
    """What deploying it would do."""

    begins_empty: list[str]
    sinks_out: list[str]


class Nodes(TypedDict):
    """All living processes."""

    nodes: list[dict[str, Any]]


class NodeLog(WrittenLines):
    """Of which process the lines are; the newest last."""

    node: str
    service: str
    version: str | None


class Drain(TypedDict):
    """What a processor still carries."""

    node: str
    drained: bool
    empty: bool
    left: list[str]
    leads: list[str]
    carried: int
    no_room: list[str]


class Rebalance(TypedDict):
    """`dry_run`: only say what would be done."""

    dry_run: NotRequired[bool]


class Rebalanced(TypedDict):
    """What will move, and the loads before and after."""

    dry_run: bool
    moves: list[dict[str, Any]]
    loads: list[dict[str, Any]]
    not_ready: list[str]


class Revisions(TypedDict):
    """Stored states, the newest first. `unit`: of which unit of a fleet alone one is, which cannot
    be restored by itself; null: of the whole app."""

    app: str
    revisions: list[dict[str, Any]]


class Restore(TypedDict):
    """Which revision, or to which time (epoch milliseconds); nothing: the newest revision.
    `replay`: from that time on to the present; `output`: where the rows of that go."""

    revision: NotRequired[str | None]
    to_ms: NotRequired[int | None]
    replay: NotRequired[bool]
    output: NotRequired[str]


class Restored(TypedDict):
    """`done`: a leader goes on with it already. For a time: `position`, where the app stood;
    `after`, behind which it is folded; `begins_ms`: since when, where no revision is; `folds`: the
    route `past` tells how far it is."""

    app: str
    revision: str
    generation: int
    done: bool
    position: NotRequired[int]
    after: NotRequired[int]
    begins_ms: NotRequired[int | None]
    folds: NotRequired[bool]


class Deleted(TypedDict):
    """Revisions that are gone, and those that are needed."""

    app: str
    deleted: list[str]
    kept: NotRequired[list[str]]


class Errors(TypedDict):
    """Dead letters."""

    app: str
    errors: list[dict[str, Any]]


class Dashboards(TypedDict):
    """Names of what people made to watch apps."""

    dashboards: list[str]


class Dashboard(TypedDict):
    """Which one it was."""

    dashboard: str


_APP: Final = "/v1/apps/{app}"
_BOARD: Final = "/v1/dashboards/{name}"
OWN: Final = (
    Described("GET", "/v1/apps", "All deployed apps.", Apps),
    Described(
        "POST", "/v1/apps", "Deploys or replaces an app.", DeployedApp, Deploy, others=(201,)
    ),
    Described("PUT", "/v1/apps", "The same.", DeployedApp, Deploy, others=(201,)),
    Described("GET", _APP, "A deployed app with its text.", OneApp),
    Described("DELETE", _APP, "Undeploys it.", Undeployed, query=("purge",)),
    Described("GET", f"{_APP}/versions", "Texts that were deployed.", AppVersionLines),
    Described("GET", f"{_APP}/versions/{{number}}", "One of them.", OneAppVersion),
    Described(
        "GET", f"{_APP}/asyncapi.json", "What it takes and gives: AsyncAPI 3.0.", dict[str, Any]
    ),
    Described("GET", f"{_APP}/status", "Who leads, who stands by, how far each is.", AppStatus),
    Described("POST", f"{_APP}/handover", "Lets a ready standby lead.", Commanded, HandOver),
    Described("POST", f"{_APP}/snapshot", "Takes a revision now.", Commanded),
    Described("GET", f"{_APP}/archive", "What is archived of it.", ArchivedTables),
    Described("POST", f"{_APP}/archive/query", "Asks its past by SQL.", AnsweredPast, AskedPast),
    Described("POST", f"{_APP}/archive/erase", "Erases rows of its archive.", ErasedRows, Erasing),
    Described("GET", f"{_APP}/past", "How far its past is folded.", PastProgress),
    Described("DELETE", f"{_APP}/past", "Calls its past off.", CalledOff),
    Described("GET", f"{_APP}/revisions", "Its revisions.", Revisions),
    Described(
        "POST", f"{_APP}/restore", "Goes on with a revision.", Restored, Restore, others=(202,)
    ),
    Described("DELETE", f"{_APP}/revisions", "Deletes revisions that nobody needs.", Deleted),
    Described("DELETE", f"{_APP}/revisions/{{revision}}", "Deletes a revision.", Deleted),
    Described(
        "GET",
        f"{_APP}/errors",
        "Refused events, and why.",
        Errors,
        query=("stream", "after", "limit"),
    ),
    Described(
        "POST",
        f"{_APP}/errors/replay",
        "Sends some again; where there are `more`, `next` is the number to go on behind.",
        dict[str, Any],
        dict[str, Any],
    ),
    Described(
        "POST",
        f"{_APP}/errors/purge",
        "Forgets some; where there are `more`, `next` is the number to go on behind.",
        dict[str, Any],
        dict[str, Any],
    ),
    Described("POST", "/v1/validate", "Checks a text.", Validated, AppText),
    Described("POST", "/v1/preview", "What deploying it would do.", Preview, ToPreview),
    Described("GET", "/v1/dashboards", "Dashboards that people made.", Dashboards),
    Described("GET", _BOARD, "One of them.", dict[str, Any]),
    Described("PUT", _BOARD, "Keeps one.", Dashboard, dict[str, Any], others=(201,)),
    Described("DELETE", _BOARD, "Forgets it.", Dashboard),
    Described("GET", "/v1/nodes", "All living processes.", Nodes),
    Described(
        "GET",
        "/v1/nodes/{node}/log",
        "The last log lines of a process.",
        NodeLog,
        query=("lines", "level", "service"),
    ),
    Described("GET", "/v1/nodes/{node}/drain", "What a processor still carries.", Drain),
    Described("PUT", "/v1/nodes/{node}/drain", "Takes everything off it.", Drain),
    Described("DELETE", "/v1/nodes/{node}/drain", "Lets it carry again.", Drain),
    Described("POST", "/v1/rebalance", "Levels the processors' loads.", Rebalanced, Rebalance),
)
