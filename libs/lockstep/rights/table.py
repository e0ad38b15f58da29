"""What every route, topic and command asks of its caller, in one place.

Tests walk the routers of all services, the subjects of the bus and the commands: what is missing
here fails there, and is refused by the door.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lockstep.rights.model import Permission
from lockstep.rights.needs import KNOWN, OPEN, Need, Scope

_VIEW: Final = Need(Scope.APP, Permission.VIEW)
_SEND: Final = Need(Scope.APP, Permission.SEND)
_OPERATE: Final = Need(Scope.APP, Permission.OPERATE)
_DEPLOY: Final = Need(Scope.APP, Permission.DEPLOY)
_VIEW_SOME: Final = Need(Scope.SOMEWHERE, Permission.VIEW)
_SEND_SOME: Final = Need(Scope.SOMEWHERE, Permission.SEND)
_OPERATE_SOME: Final = Need(Scope.SOMEWHERE, Permission.OPERATE)
_DEPLOY_SOME: Final = Need(Scope.SOMEWHERE, Permission.DEPLOY)
_VIEW_ALL: Final = Need(Scope.EVERYWHERE, Permission.VIEW)
_DEPLOY_ALL: Final = Need(Scope.EVERYWHERE, Permission.DEPLOY)
_CODE_ALL: Final = Need(Scope.EVERYWHERE, Permission.CODE)
_OPERATE_ALL: Final = Need(Scope.EVERYWHERE, Permission.OPERATE)
_ADMINISTER_SOME: Final = Need(Scope.SOMEWHERE, Permission.ADMINISTER)
_ADMINISTER: Final = Need(Scope.EVERYWHERE, Permission.ADMINISTER)

Place = tuple[str, str]
"""Method and path."""

DOOR: Final[Mapping[Place, Need]] = {
    ("GET", "/healthz"): OPEN,
    ("GET", "/health"): OPEN,
    ("GET", "/readyz"): OPEN,
    ("GET", "/metrics"): _VIEW_ALL,
    ("GET", "/openapi.json"): KNOWN,
    ("GET", "/log"): _ADMINISTER,
}
COORDINATOR: Final[Mapping[Place, Need]] = {
    ("GET", "/v1/apps"): _VIEW_SOME,
    ("POST", "/v1/apps"): _DEPLOY_SOME,
    ("PUT", "/v1/apps"): _DEPLOY_SOME,
    ("GET", "/v1/apps/{app}"): _VIEW,
    ("DELETE", "/v1/apps/{app}"): _DEPLOY,
    ("GET", "/v1/apps/{app}/versions"): _VIEW,
    ("GET", "/v1/apps/{app}/versions/{number}"): _VIEW,
    ("GET", "/v1/apps/{app}/status"): _VIEW,
    ("GET", "/v1/apps/{app}/connectors"): _VIEW,
    ("POST", "/v1/apps/{app}/connectors/pause"): _OPERATE,
    ("POST", "/v1/apps/{app}/connectors/resume"): _OPERATE,
    ("POST", "/v1/apps/{app}/connectors/{element}/pause"): _OPERATE,
    ("POST", "/v1/apps/{app}/connectors/{element}/resume"): _OPERATE,
    ("GET", "/v1/apps/{app}/figures"): _VIEW,
    ("GET", "/v1/apps/{app}/failovers"): _VIEW,
    ("GET", "/v1/failovers"): _VIEW_SOME,  # of the apps that the caller may view
    ("GET", "/v1/apps/{app}/flow"): _VIEW,
    ("GET", "/v1/apps/{app}/asyncapi.json"): _VIEW,
    ("POST", "/v1/apps/{app}/handover"): _OPERATE,
    ("POST", "/v1/apps/{app}/snapshot"): _OPERATE,
    ("GET", "/v1/apps/{app}/revisions"): _VIEW,
    ("POST", "/v1/apps/{app}/restore"): _OPERATE,
    ("DELETE", "/v1/apps/{app}/revisions"): _OPERATE,
    ("DELETE", "/v1/apps/{app}/revisions/{revision}"): _OPERATE,
    ("GET", "/v1/apps/{app}/errors"): _VIEW,
    ("POST", "/v1/apps/{app}/errors/replay"): _OPERATE,
    ("POST", "/v1/apps/{app}/errors/purge"): _OPERATE,
    ("GET", "/v1/apps/{app}/archive"): _VIEW,
    ("POST", "/v1/apps/{app}/archive/query"): _VIEW,  # it reads, and sees that app alone
    ("POST", "/v1/apps/{app}/archive/erase"): _OPERATE,
    # Scripts read what all apps have archived, and are code of an author: Spark SQL, too, reads
    # files and starts programs.
    ("GET", "/v1/batch"): _VIEW_ALL,
    ("POST", "/v1/batch"): _CODE_ALL,
    ("GET", "/v1/batch/{script}"): _VIEW_ALL,
    ("DELETE", "/v1/batch/{script}"): _DEPLOY_ALL,
    ("GET", "/v1/batch/{script}/versions/{number}"): _VIEW_ALL,
    ("GET", "/v1/batch/{script}/runs"): _VIEW_ALL,
    ("POST", "/v1/batch/{script}/run"): _OPERATE_ALL,
    ("POST", "/v1/batch/{script}/pause"): _OPERATE_ALL,
    ("POST", "/v1/batch/{script}/resume"): _OPERATE_ALL,
    ("POST", "/v1/batch/{script}/cancel"): _OPERATE_ALL,
    ("GET", "/v1/apps/{app}/past"): _VIEW,
    ("DELETE", "/v1/apps/{app}/past"): _DEPLOY,
    ("POST", "/v1/validate"): KNOWN,
    ("POST", "/v1/preview"): _DEPLOY_SOME,
    # Of the apps that its widgets name, all; one that names none takes the right everywhere.
    ("GET", "/v1/dashboards"): _VIEW_SOME,
    ("GET", "/v1/dashboards/{name}"): _VIEW_SOME,
    ("PUT", "/v1/dashboards/{name}"): _OPERATE_SOME,
    ("DELETE", "/v1/dashboards/{name}"): _OPERATE_SOME,
    # Instances are apps: who may operate an app of that name starts and stops one.
    ("GET", "/v1/templates"): _VIEW_SOME,
    ("GET", "/v1/templates/{template}"): _VIEW_SOME,
    ("PUT", "/v1/templates/{template}"): _DEPLOY_ALL,  # with a function: the right to code, too
    ("DELETE", "/v1/templates/{template}"): _DEPLOY_ALL,
    ("PUT", "/v1/templates/{template}/instances/{app}"): _OPERATE,
    ("DELETE", "/v1/templates/{template}/instances/{app}"): _OPERATE,
    ("GET", "/v1/nodes"): _VIEW_ALL,
    ("GET", "/v1/nodes/{node}/log"): _ADMINISTER,
    ("GET", "/v1/nodes/{node}/drain"): _VIEW_ALL,
    ("PUT", "/v1/nodes/{node}/drain"): _OPERATE_ALL,
    ("DELETE", "/v1/nodes/{node}/drain"): _OPERATE_ALL,
    ("POST", "/v1/rebalance"): _OPERATE_ALL,
    ("GET", "/v1/login"): OPEN,
    ("POST", "/v1/login"): OPEN,
    ("POST", "/v1/logout"): KNOWN,
    ("POST", "/v1/invitation"): OPEN,
    ("GET", "/v1/me"): KNOWN,
    ("PUT", "/v1/me/password"): KNOWN,
    ("GET", "/v1/audit"): _ADMINISTER,
    ("GET", "/v1/users"): _ADMINISTER,
    ("PUT", "/v1/users/{user}"): _ADMINISTER,
    ("DELETE", "/v1/users/{user}"): _ADMINISTER,
    ("POST", "/v1/users/{user}/invitation"): _ADMINISTER,
    ("GET", "/v1/groups"): _ADMINISTER,
    ("PUT", "/v1/groups/{group}"): _ADMINISTER,
    ("DELETE", "/v1/groups/{group}"): _ADMINISTER,
    ("PUT", "/v1/groups/{group}/members/{user}"): _ADMINISTER,
    ("DELETE", "/v1/groups/{group}/members/{user}"): _ADMINISTER,
    ("POST", "/v1/grants"): _ADMINISTER_SOME,
    ("DELETE", "/v1/grants"): _ADMINISTER_SOME,
    ("GET", "/v1/tokens"): KNOWN,  # those that the caller may revoke
    ("POST", "/v1/tokens"): _ADMINISTER_SOME,
    ("DELETE", "/v1/tokens/{token}"): KNOWN,  # one's own, and those of the apps one administers
    # An identity provider keeps users and groups. Who fills groups can make administrators.
    ("GET", "/scim/v2/ServiceProviderConfig"): _ADMINISTER,
    ("GET", "/scim/v2/ResourceTypes"): _ADMINISTER,
    ("GET", "/scim/v2/ResourceTypes/{kind}"): _ADMINISTER,
    ("GET", "/scim/v2/Schemas"): _ADMINISTER,
    ("GET", "/scim/v2/Schemas/{schema}"): _ADMINISTER,
    ("GET", "/scim/v2/Users"): _ADMINISTER,
    ("POST", "/scim/v2/Users"): _ADMINISTER,
    ("GET", "/scim/v2/Users/{user}"): _ADMINISTER,
    ("PUT", "/scim/v2/Users/{user}"): _ADMINISTER,
    ("PATCH", "/scim/v2/Users/{user}"): _ADMINISTER,
    ("DELETE", "/scim/v2/Users/{user}"): _ADMINISTER,
    ("GET", "/scim/v2/Groups"): _ADMINISTER,
    ("POST", "/scim/v2/Groups"): _ADMINISTER,
    ("GET", "/scim/v2/Groups/{group}"): _ADMINISTER,
    ("PUT", "/scim/v2/Groups/{group}"): _ADMINISTER,
    ("PATCH", "/scim/v2/Groups/{group}"): _ADMINISTER,
    ("DELETE", "/scim/v2/Groups/{group}"): _ADMINISTER,
    # The older products' routes
    ("POST", "/siddhi-apps"): _DEPLOY_SOME,
    ("PUT", "/siddhi-apps"): _DEPLOY_SOME,
    ("GET", "/siddhi-apps"): _VIEW_SOME,
    ("GET", "/siddhi-apps/{app}"): _VIEW,
    ("DELETE", "/siddhi-apps/{app}"): _DEPLOY,
    ("GET", "/siddhi-apps/{app}/status"): _VIEW,
    ("POST", "/siddhi-apps/{app}/backup"): _OPERATE,
    ("POST", "/siddhi-apps/{app}/restore"): _OPERATE,
    ("DELETE", "/siddhi-apps/{app}/revisions"): _OPERATE,
    ("DELETE", "/siddhi-apps/revisions"): _OPERATE_ALL,
    ("GET", "/siddhi-apps/statistics"): _VIEW_SOME,
    ("PUT", "/siddhi-apps/statistics"): _OPERATE_ALL,
    ("PUT", "/siddhi-apps/{app}/statistics"): _OPERATE,
    ("GET", "/siddhi-apps/{app}/elements"): _VIEW,
    ("GET", "/statistics"): _VIEW_ALL,
    ("PUT", "/statistics"): _OPERATE_ALL,
    ("GET", "/system-details"): _VIEW_ALL,
    ("GET", "/nodeDetails/runTime"): KNOWN,
    ("GET", "/managers"): KNOWN,
    ("GET", "/managers/isActive"): KNOWN,
    ("GET", "/managers/roles"): KNOWN,
    ("GET", "/managers/siddhi-apps"): _VIEW_SOME,
    ("GET", "/managers/siddhi-apps/{app}"): _VIEW,
    ("GET", "/managers/siddhi-apps-execution/{app}"): _VIEW,
    ("GET", "/managers/kafkaDetails/{app}"): _VIEW,
    ("GET", "/resourceClusterWorkers"): _VIEW_ALL,
    ("GET", "/resourceClusterWorkers/clusteredWorkerNodeDetails"): _VIEW_ALL,
}
RECEIVER: Final[Mapping[Place, Need]] = {
    ("POST", "/v1/apps/{app}/streams/{stream}/events"): _SEND,
    ("POST", "/v1/apps/{app}/events"): _SEND,
    # Who may deploy an app can name any datasource in it, and read its tables so.
    ("GET", "/v1/datasources"): _DEPLOY_ALL,
    ("POST", "/v1/datasources/{datasource}/rows"): _DEPLOY_ALL,
    ("POST", "/{path}"): _SEND_SOME,
    ("POST", "/{app}/{stream}"): _SEND,
}
PRESENTER: Final[Mapping[Place, Need]] = {
    ("GET", "/v1/apps/{app}/streams/{stream}/latest"): _VIEW,
    ("GET", "/v1/apps/{app}/streams/{stream}/poll"): _VIEW,
    ("GET", "/v1/apps/{app}/streams/{stream}/sse"): _VIEW,
    ("GET", "/v1/apps/{app}/streams/{stream}/ws"): _VIEW,
    ("GET", "/v1/apps/{app}/tables/{table}"): _VIEW,
    ("POST", "/v1/apps/{app}/query"): _VIEW,  # a query that changes something: operate, too
    ("POST", "/stores/query"): _VIEW_SOME,
    ("GET", "/"): KNOWN,
    ("GET", "/apps/{app}"): _VIEW,
    ("GET", "/assets/{name}"): KNOWN,
    ("GET", "/v1/live"): _VIEW_SOME,
    ("GET", "/v1/live/{app}"): _VIEW,
    ("GET", "/v1/apps/{app}/live"): _VIEW,
    # Grafana's data source: all of them read, and of each app what the caller may view
    ("GET", "/grafana"): _VIEW_SOME,
    ("GET", "/grafana/"): _VIEW_SOME,
    ("POST", "/grafana/search"): _VIEW_SOME,
    ("POST", "/grafana/metrics"): _VIEW_SOME,
    ("POST", "/grafana/metric-payload-options"): _VIEW_SOME,
    ("POST", "/grafana/query"): _VIEW_SOME,
    ("POST", "/grafana/variable"): _VIEW_SOME,
    ("POST", "/grafana/annotations"): _VIEW_SOME,
    ("POST", "/grafana/tag-keys"): _VIEW_SOME,
    ("POST", "/grafana/tag-values"): _VIEW_SOME,
}
ROUTES: Final[Mapping[Place, Need]] = {**DOOR, **COORDINATOR, **RECEIVER, **PRESENTER}

CLUSTER_ONLY: Final = _ADMINISTER
TOPICS: Final[Mapping[Place, Need]] = {
    ("publish", "ingress.{app}.{stream}"): _SEND,
    ("subscribe", "presenter.{app}.{stream}"): _VIEW,
    # Between the processes of the cluster; the bus's own accounts keep others away from these.
    ("publish", "in.>"): CLUSTER_ONLY,
    ("publish", "out.>"): CLUSTER_ONLY,
    ("publish", "dead.>"): CLUSTER_ONLY,
    ("publish", "control.>"): CLUSTER_ONLY,
    ("publish", "topic.>"): CLUSTER_ONLY,
}
"""Of the bus's subjects: who may use them. The bus's server judges, by its own accounts."""

_ALONE: Final = None
COMMANDS: Final[Mapping[str, Need | None]] = {
    "run": _ALONE,
    "up": _ALONE,
    "down": _ALONE,
    "demo": _ALONE,
    "validate": _ALONE,
    "explain": _ALONE,
    "format": _ALONE,
    "lsp": _ALONE,
    "test": _ALONE,
    "samples": _ALONE,
    "import": _ALONE,
    "sources": _ALONE,
    "observe": _ALONE,
    "nats-users": _ALONE,
    "backtest": _ALONE,
    "archive": _VIEW,  # its tables are files, for whoever may read them; erasing: operate
    "batch": _VIEW_ALL,  # to run, pause, cancel: operate; to deploy: code; to remove: deploy
    "deploy": _DEPLOY_SOME,
    "undeploy": _DEPLOY,
    "cancel": _DEPLOY,
    "list": _VIEW_SOME,
    "status": _VIEW,
    "figures": _VIEW,
    "failovers": _VIEW_SOME,
    "flow": _VIEW,
    "versions": _VIEW,  # to deploy one again: deploy
    "asyncapi": _VIEW,
    "query": _VIEW,
    "send": _SEND,
    "replay": _SEND,
    "simulate": _VIEW,  # the app's text; events: to send, too; rows of a database: to deploy
    "tail": _VIEW,
    "errors": _VIEW,
    "connectors": _VIEW,
    "pause": _OPERATE,
    "resume": _OPERATE,
    "handover": _OPERATE,
    "nodes": _VIEW_ALL,
    "logs": _ADMINISTER,
    "drain": _OPERATE_ALL,
    "rebalance": _OPERATE_ALL,
    "snapshot": _OPERATE,
    "revisions": _VIEW,
    "restore": _OPERATE,
    "templates": _VIEW_SOME,  # to start and stop instances: operate; to put and remove: deploy
    "users": _ADMINISTER,
    "groups": _ADMINISTER,
    "grant": _ADMINISTER_SOME,
    "revoke": _ADMINISTER_SOME,
    "tokens": _ADMINISTER_SOME,
    "audit": _ADMINISTER,
    "login": OPEN,
    "logout": KNOWN,
}
"""Of the `lockstep` command: what the routes that it calls ask for. None: it asks no running suite
as a client."""
