"""The older products' routes on the coordinator, for its OpenAPI document."""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired, TypedDict

from lockstep.frame.openapi import TEXT, Described


class Message(TypedDict):
    """How it went."""

    type: str
    message: str
    code: NotRequired[int]


class Content(TypedDict):
    """The text of an app."""

    content: str


class State(TypedDict):
    """How an app is doing."""

    status: Literal["active", "passive", "inactive"]


class Backup(TypedDict):
    """What was stored."""

    revision: str


class AppStatistics(TypedDict):
    """An app and how much its metrics tell."""

    appName: str
    status: str
    age: int
    isStatEnabled: bool
    enabledSiddhiStatLevel: str


class Enable(TypedDict):
    """How much shall be counted."""

    statsEnable: bool | Literal["true", "false"]
    enabledSiddhiStatLevel: NotRequired[Literal["OFF", "BASIC", "DETAIL"]]


class WorkerMetrics(TypedDict):
    """What the process and its host use; shares of one."""

    processCPU: float
    systemCPU: float
    loadAverage: float
    memoryUsage: float


class NodeStatistics(TypedDict):
    """How the node is doing. `isInSync`: every replica of every app could lead now."""

    workerMetrics: WorkerMetrics
    runningStatus: str
    isStatsEnabled: bool
    clusterID: str
    lastSyncTime: str
    lastSnapshotTime: str
    isInSync: bool
    message: str


class System(TypedDict):
    """What the node runs on."""

    carbonId: str
    runtime: str
    osName: str
    osVersion: str
    osArchitecture: str


class Manager(TypedDict):
    """Whether this coordinator leads."""

    groupId: str
    haStatus: Literal["Active", "Passive"]
    nodeId: str


class PartialApp(TypedDict):
    """A unit of an app."""

    parentAppName: str
    appName: str
    groupName: str
    siddhiApp: str
    id: str
    state: str
    appStatus: Literal["active", "waiting"]
    host: str
    port: int
    failedPingAttempts: int
    lastPingTimestamp: int
    unit: str


class AppTopics(TypedDict):
    """Where a unit reads and writes."""

    appName: str
    siddhiApp: str
    deployedHost: str
    deployedPort: int
    sourceList: list[str]
    sinkList: list[str]


class Worker(TypedDict):
    """A processor."""

    https_host: str
    https_port: int
    nodeId: str


class Authorized(TypedDict):
    """Whether the caller may."""

    isAuthorized: bool


_APP: Final = "/siddhi-apps/{app}"
_REDEPLOY: Final = ("enabledRedeployment",)
OLDER: Final = (
    Described("POST", "/siddhi-apps", "Deploys a new app.", Message, "text", status=201),
    Described("PUT", "/siddhi-apps", "Deploys or replaces an app.", Message, "text", others=(201,)),
    Described("GET", "/siddhi-apps", "Names of apps.", list[str], query=("isActive",)),
    Described("GET", _APP, "The text of an app.", Content),
    Described("DELETE", _APP, "Undeploys it."),
    Described("GET", f"{_APP}/status", "Whether somebody leads it.", State),
    Described("POST", f"{_APP}/backup", "Takes a revision now.", Backup, status=201),
    Described(
        "POST",
        f"{_APP}/restore",
        "Goes on with a revision.",
        Message,
        query=("revision",),
        others=(202,),
    ),
    Described(
        "DELETE",
        f"{_APP}/revisions",
        "Deletes revisions that nobody needs.",
        Message,
        query=_REDEPLOY,
    ),
    Described(
        "DELETE", "/siddhi-apps/revisions", "The same, of all apps.", Message, query=_REDEPLOY
    ),
    Described(
        "GET",
        "/siddhi-apps/statistics",
        "Apps, and how much their metrics tell.",
        list[AppStatistics],
        query=("isActive",),
    ),
    Described("PUT", "/siddhi-apps/statistics", "How much all metrics tell.", Message, Enable),
    Described("PUT", f"{_APP}/statistics", "How much an app's metrics tell.", Message, Enable),
    Described("GET", f"{_APP}/elements", "What it consists of.", list[dict[str, Any]]),
    Described("GET", "/statistics", "How the node is doing.", NodeStatistics),
    Described("PUT", "/statistics", "Whether anything is counted.", Message, Enable),
    Described("GET", "/system-details", "What the node runs on.", System),
    Described("GET", "/nodeDetails/runTime", "The profile: manager.", content=TEXT),
    Described("GET", "/managers", "Whether this coordinator leads.", Manager),
    Described("GET", "/managers/isActive", "200 where it leads, else 404.", content=TEXT),
    Described(
        "GET", "/managers/roles", "Whether the caller may.", Authorized, query=("permissionSuffix",)
    ),
    Described("GET", "/managers/siddhi-apps", "The units of all apps.", list[PartialApp]),
    Described(
        "GET", "/managers/siddhi-apps/{app}", "The text of an app.", content=TEXT, others=(204,)
    ),
    Described(
        "GET", "/managers/siddhi-apps-execution/{app}", "The units of an app.", list[PartialApp]
    ),
    Described(
        "GET", "/managers/kafkaDetails/{app}", "Where its units read and write.", list[AppTopics]
    ),
    Described("GET", "/resourceClusterWorkers", "How many processors live.", int, others=(204,)),
    Described(
        "GET",
        "/resourceClusterWorkers/clusteredWorkerNodeDetails",
        "Which processors live.",
        list[Worker],
    ),
)
