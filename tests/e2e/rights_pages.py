"""Pages of the console by role: without a log-in they lead to the log-in and show nothing; with one
they answer, show what the person may view, and what it may not do is grey and says why.

Judged by what the console's process sends for a page, which is what a browser is told to draw.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
from nicegui import app as console

import lockstep_services.console.pages  # noqa: F401  registers them
from lockstep.clock import SystemClock
from lockstep.rights import ROUTES, Need, Permission, Principal, Scope, refusal
from lockstep.rights.table import Place
from lockstep_services.console.login import TOKEN_COOKIE

MINE: Final = "Mine"
OTHER: Final = "Other"
NODE: Final = "machine-of-the-trial"
WITHIN_MS: Final = 20_000
POLL_MS: Final = 200
REFUSED: Final = "has not the right to"
_ELEMENTS: Final = re.compile(r"parseElements\(String\.raw`(.*?)`", re.DOTALL)
_VIEW: Final = Permission.VIEW


@dataclass(frozen=True, slots=True)
class PageTrial:
    """A page: its path as registered, as asked, what it offers (label, routes), and what it shows
    to whoever has a right to view (word, app or "": everywhere)."""

    path: str
    asked: str
    offers: tuple[tuple[str, Place], ...] = ()
    app: str = ""
    shows: tuple[tuple[str, Need, str], ...] = ()


def _of(app: str) -> Need:
    return Need(Scope.APP if app else Scope.EVERYWHERE, _VIEW)


_APP_OFFERS: Final = (
    ("Hand over", ("POST", "/v1/apps/{app}/handover")),
    ("Save the state now", ("POST", "/v1/apps/{app}/snapshot")),
    ("Restore a saved state …", ("POST", "/v1/apps/{app}/restore")),
    ("Undeploy …", ("DELETE", "/v1/apps/{app}")),
    ("Undeploy and purge …", ("DELETE", "/v1/apps/{app}")),
)
_LISTED: Final = ((f"/apps/{MINE}", _of(MINE), MINE), (f"/apps/{OTHER}", _of(OTHER), OTHER))
PAGES: Final = (
    PageTrial("/", "/", shows=_LISTED),
    PageTrial("/apps", "/apps", shows=_LISTED),
    PageTrial("/apps/{name}", f"/apps/{MINE}", _APP_OFFERS, MINE, ((NODE, _of(MINE), MINE),)),
    PageTrial("/apps/{name}", f"/apps/{OTHER}", _APP_OFFERS, OTHER, ((NODE, _of(OTHER), OTHER),)),
    PageTrial("/apps/{name}/flow", f"/apps/{MINE}/flow"),
    PageTrial("/apps/{name}/tables", f"/apps/{MINE}/tables"),
    PageTrial("/apps/{name}/figures", f"/apps/{MINE}/figures"),
    PageTrial("/apps/{name}/versions", f"/apps/{MINE}/versions"),
    PageTrial("/apps/{name}/simulate", f"/apps/{MINE}/simulate"),
    PageTrial("/write", "/write", (("Deploy", ("PUT", "/v1/apps")),)),
    PageTrial("/try", "/try"),
    PageTrial("/watch", "/watch?new", (("Save", ("PUT", "/v1/dashboards/{name}")),)),
    PageTrial("/watch/{name}", "/watch/nothing"),
    PageTrial("/history", "/history"),
    PageTrial("/scripts", "/scripts"),
    PageTrial("/scripts/{name}", "/scripts/nothing", (
        ("Run now", ("POST", "/v1/batch/{script}/run")),
        ("Pause", ("POST", "/v1/batch/{script}/pause")),
    )),
    PageTrial("/templates", "/templates", (
        ("New template …", ("PUT", "/v1/templates/{template}")),
    )),
    PageTrial("/errors", "/errors"),
    PageTrial("/nodes/{name}/log", "/nodes/nothing/log"),
    PageTrial("/nodes", "/nodes", (
        ("Level", ("POST", "/v1/rebalance")),
        ("Drain …", ("PUT", "/v1/nodes/{node}/drain")),
    ), shows=((NODE, _of(""), ""),)),
)  # fmt: skip


@dataclass(slots=True)
class Looked:
    """Which pages, and what was otherwise than written."""

    pages: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)


def unlisted() -> list[str]:
    """Pages of the console that are looked at by nobody."""
    known = {path for route in console.routes if (path := getattr(route, "path", ""))}
    # What NiceGUI itself answers, once a console has been opened in this process, is no page.
    own = {path for path in known if not path.startswith(("/_nicegui", "/favicon.ico"))}
    return [f"the page {path} is looked at by nobody" for path in own - {p.path for p in PAGES}]


async def tried(
    session: aiohttp.ClientSession, url: str, people: Sequence[tuple[str, str, Principal]]
) -> Looked:
    """`people`: label, token, and what the table is asked with."""
    looked = Looked(wrong=unlisted())
    for page in PAGES:
        looked.pages.add(page.path)
        for shown in ("", "lockstep_000000000000_wrong"):
            await _without(session, url, page, shown, looked)
        for label, token, principal in people:
            said = await _within(session, url, page, token, principal)
            looked.wrong += [f"{label} at {page.asked}: {one}" for one in said]
    return looked


async def _asked(
    session: aiohttp.ClientSession, url: str, token: str
) -> tuple[int, str, Mapping[str, str]]:
    headers = {"Cookie": f"{TOKEN_COOKIE}={token}"} if token else {}
    async with session.get(url, headers=headers, allow_redirects=False) as response:
        return response.status, await response.text(), dict(response.headers)


async def _without(
    session: aiohttp.ClientSession, url: str, page: PageTrial, shown: str, looked: Looked
) -> None:
    who = "a wrong token" if shown else "nobody"
    status, text, headers = await _asked(session, url + page.asked, shown)
    if status != 303 or not headers.get("Location", "").startswith("/login"):
        looked.wrong.append(f"{who} at {page.asked}: {status}, expected the way to the log-in")
    if text:
        looked.wrong.append(f"{who} at {page.asked} is shown something: {text[:100]}")


async def _within(
    session: aiohttp.ClientSession, url: str, page: PageTrial, token: str, person: Principal
) -> list[str]:
    """What is wrong; a page whose content comes a moment later is asked again."""
    clock = SystemClock()
    give_up_ms = clock.monotonic_ms() + WITHIN_MS
    may_see = [not refusal(person, need, app or None) for _, need, app in page.shows]
    while True:
        status, text, _ = await _asked(session, url + page.asked, token)
        if status != 200:
            return [f"answers {status}"]
        sees = [word in text for word, _, _ in page.shows]
        is_told = any(may_see) or not page.shows or REFUSED in text
        if (sees == may_see and is_told) or clock.monotonic_ms() > give_up_ms:
            break
        await clock.sleep_ms(POLL_MS)
    wrong = [
        f"{'does not show' if may else 'shows'} {word}"
        for (word, _, _), may, does in zip(page.shows, may_see, sees, strict=True)
        if may != does
    ]
    if not is_told:
        wrong.append("shows nothing, and does not say why")
    return wrong + _offers(page, _elements(text), person)


def _offers(page: PageTrial, drawn: Mapping[str, Mapping[str, Any]], who: Principal) -> list[str]:
    wrong = []
    for label, place in page.offers:
        found = [one for one in drawn.values() if _label(one, drawn) == label]
        if len(found) != 1:
            wrong.append(f"has {len(found)} of '{label}'")
            continue
        given = found[0]["props"]
        is_grey = bool(given.get("disable"))
        refused = refusal(who, ROUTES[place], page.app or None)
        if is_grey != (refused is not None):
            wrong.append(f"'{label}' is {'grey' if is_grey else 'offered'}")
        if refused is not None and refused.message not in str(given.get("title")):
            wrong.append(f"'{label}' does not say which right is missing")
    return wrong


def _elements(text: str) -> Mapping[str, Mapping[str, Any]]:
    found = _ELEMENTS.search(text)
    assert found is not None, text[:500]
    decoded: Mapping[str, Mapping[str, Any]] = json.loads(html.unescape(found[1]))
    return decoded


def _label(one: Mapping[str, Any], drawn: Mapping[str, Mapping[str, Any]]) -> str:
    """Of a button or a menu's item."""
    if one.get("tag") == "q-btn":
        return str(one.get("props", {}).get("label", ""))
    if one.get("tag") == "q-item":
        inner = (drawn.get(str(number), {}) for number in one.get("children", ()))
        return str(one.get("text") or next((i["text"] for i in inner if i.get("text")), ""))
    return ""
