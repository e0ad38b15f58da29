"""What a person may do, by the suite's own table of rights: what is refused anyway is not offered.

The services judge each request by themselves; here nothing is decided, only shown.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from nicegui import ui

from lockstep.cli.refusals import RefusedError
from lockstep.events import LockstepError
from lockstep.rights import (
    ROUTES,
    Grant,
    Kind,
    Permission,
    Principal,
    Role,
    administrator,
    refusal,
)
from lockstep.rights.accounts import digest_of
from lockstep.rights.table import Place
from lockstep_services.console.suite import Suite

WITHIN_S: Final = 0.1
"""A page of somebody who was let in before waits no longer for the rights."""
UNKNOWN_WITHIN_S: Final = 1.0
"""The page of a stranger does: services look once more before they refuse a token."""
MAX_KNOWN: Final = 1_000
HAND_OVER: Final = ("POST", "/v1/apps/{app}/handover")
SNAPSHOT: Final = ("POST", "/v1/apps/{app}/snapshot")
RESTORE: Final = ("POST", "/v1/apps/{app}/restore")
PAUSE: Final = ("POST", "/v1/apps/{app}/connectors/{element}/pause")
RESUME: Final = ("POST", "/v1/apps/{app}/connectors/{element}/resume")
UNDEPLOY: Final = ("DELETE", "/v1/apps/{app}")
DEPLOY: Final = ("PUT", "/v1/apps")
REPLAY: Final = ("POST", "/v1/apps/{app}/errors/replay")
PURGE: Final = ("POST", "/v1/apps/{app}/errors/purge")
SEND: Final = ("POST", "/v1/apps/{app}/streams/{stream}/events")
NAME_DATABASES: Final = ("GET", "/v1/datasources")
READ_DATABASE: Final = ("POST", "/v1/datasources/{datasource}/rows")
DRAIN: Final = ("PUT", "/v1/nodes/{node}/drain")
LEVEL: Final = ("POST", "/v1/rebalance")
NODE_LOG: Final = ("GET", "/v1/nodes/{node}/log")
RUN_SCRIPT: Final = ("POST", "/v1/batch/{script}/run")
PAUSE_SCRIPT: Final = ("POST", "/v1/batch/{script}/pause")
RESUME_SCRIPT: Final = ("POST", "/v1/batch/{script}/resume")
CANCEL_SCRIPT: Final = ("POST", "/v1/batch/{script}/cancel")
PUT_TEMPLATE: Final = ("PUT", "/v1/templates/{template}")
START_INSTANCE: Final = ("PUT", "/v1/templates/{template}/instances/{app}")
STOP_INSTANCE: Final = ("DELETE", "/v1/templates/{template}/instances/{app}")
QUERY: Final = ("POST", "/v1/apps/{app}/query")
SAVE_BOARD: Final = ("PUT", "/v1/dashboards/{name}")
DELETE_BOARD: Final = ("DELETE", "/v1/dashboards/{name}")


class Allowed:
    """Of one person, as it was when the page was opened."""

    def __init__(self, person: Principal) -> None:
        self._person = person

    def why_not(self, place: Place, app: str | None = None) -> str:
        """Empty: it may."""
        refused = refusal(self._person, ROUTES[place], app)
        return "" if refused is None else f"{refused.message}: {refused.hint}"

    def offer(self, element: ui.element, *places: Place, app: str | None = None) -> None:
        """Can be chosen where all of it is allowed; otherwise it is grey, and says why."""
        reasons = [why for place in places if (why := self.why_not(place, app))]
        if reasons:
            element.props["disable"], element.props["title"] = True, reasons[0]
        else:
            element.props(remove="disable title")


EVERYTHING: Final = Allowed(administrator(Kind.ANYBODY))


def person_of(me: Mapping[str, Any]) -> Principal:
    """From what `GET /v1/me` answers. A role of a later release is passed over."""
    roles = {role.value: role for role in Role}
    grants = [Grant(roles[one["role"]], one["app"]) for one in me["grants"] if one["role"] in roles]
    return Principal(Kind(me["kind"]), me["name"], frozenset(grants))


async def may_code(suite: Suite) -> bool:
    """Whether texts with `define function` may be run for whoever asks, by a right on some app.

    The suite never sees such a text, so this is judged here, and nobody is let in while the suite
    does not say: RefusedError, UnavailableError.
    """
    return person_of(await suite.ask("/v1/me")).may_somewhere(Permission.CODE)


class Known:
    """Whom the suite has let in since this process began: digests of tokens, at most MAX_KNOWN, the
    longest unused go first. It opens nothing; it says whose page need not wait."""

    def __init__(self) -> None:
        self._digests: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, token: str | None) -> bool:
        return digest_of(token or "") in self._digests

    def add(self, token: str | None) -> None:
        """It was let in just now."""
        digest = digest_of(token or "")
        self._digests[digest] = None
        self._digests.move_to_end(digest)
        while len(self._digests) > MAX_KNOWN:
            self._digests.popitem(last=False)

    def remove(self, token: str | None) -> None:
        """It was refused."""
        self._digests.pop(digest_of(token or ""), None)


async def allowed_of(suite: Suite, known: Known) -> Allowed:
    """Everything where the suite does not say in time: it judges later. RefusedError where it does
    not know who asks."""
    asked = asyncio.ensure_future(suite.ask("/v1/me"))
    within_s = WITHIN_S if suite.token in known else UNKNOWN_WITHIN_S
    done, _ = await asyncio.wait({asked}, timeout=within_s)
    if not done:
        asked.cancel()
        return EVERYTHING
    try:
        allowed = Allowed(person_of(asked.result()))
    except LockstepError as error:
        if isinstance(error, RefusedError) and error.status == HTTPStatus.UNAUTHORIZED:
            known.remove(suite.token)
            raise
        return EVERYTHING
    known.add(suite.token)
    return allowed
