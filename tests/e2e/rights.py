"""Who may do what, on real processes: every route of every service, by every kind of caller.

`make e2e SCENARIO=rights` starts a suite with a cluster token, two apps, and a caller of each role
on one app and everywhere: users with sessions and with Basic, and tokens of services. Each of them
asks each route of each process; the status is compared with the table of rights. Refused has to be
401 or 403 as written, and what is let in has to get another answer. Then each of them is revoked,
and has to be out everywhere. The same for the commands of `lockstep`, the pages of the console, the
subjects of the bus, and for code of an app's author by every way in. Last line:
`rights: ok routes=<n> roles=<n> topics=<n> commands=<n> pages=<n> wrong=0`.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

from lockstep.cli.processes import ProcessSuite
from lockstep.clock import SystemClock
from lockstep.frame import World
from lockstep.rights import Grant, Kind, Need, Principal, Role, Scope, refusal
from lockstep.rights.needs import KNOWN
from lockstep.rights.table import COORDINATOR, DOOR, PRESENTER, RECEIVER
from tests.e2e import rights_code, rights_commands, rights_pages, rights_topics
from tests.e2e.harness import Way, tried

CLUSTER: Final = "the-cluster-secret-of-this-trial"
PASSWORD: Final = "correct horse battery"
SETTINGS: Final = {"LOCKSTEP_SERVER__TOKEN": CLUSTER}
OUT_WITHIN_MS: Final = 60_000
POLL_MS: Final = 200
APP: Final = "Mine"
OTHER: Final = "Other"
PLAN: Final = tuple(
    (service, service)
    for service in ("coordinator", "processor", "publisher", "presenter", "receiver")
)
PROCESSES: Final = (
    *((service, service) for service, _ in PLAN if service != "processor"),
    (rights_pages.NODE, "processor"),
    ("console", "console"),
)
"""With the console. The processor has a name that stands nowhere else."""
OF: Final[Mapping[str, Mapping[tuple[str, str], Need]]] = {
    "coordinator": {**DOOR, **COORDINATOR},
    "processor": DOOR,
    "publisher": DOOR,
    "presenter": {**DOOR, **PRESENTER},
    "receiver": {**DOOR, **RECEIVER},
}
NAMES: Final = {
    "stream": "In", "table": "Kept", "node": "nobody", "name": "nothing", "revision": "nothing",
    "path": "nothing-here", "user": "nobody", "group": "nobody", "token": "nobody",
    "script": "nobody", "number": "1", "template": "nothing", "datasource": "nothing",
    "kind": "User", "schema": "nothing", "element": "sink:nothing",
}  # fmt: skip
CLAIMED: Final = KNOWN
"""No app claims a path of its own in this trial, and what is not there is not there for all."""
AWAY: Final = frozenset({401, 403})


@dataclass(slots=True)
class Caller:
    """Somebody, what they show, and what the table is asked with."""

    label: str
    shown: str
    principal: Principal | None
    revoke: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A process: which routes it has, and where it answers and writes its log."""

    service: str
    node: str
    url: str
    log: Path


@dataclass(slots=True)
class Tally:
    """What was asked, and what was answered otherwise than written."""

    callers: int
    asked: int = 0
    out: int = 0
    out_ms: int = 0
    topics: int = 0
    commands: int = 0
    pages: int = 0
    routes: set[tuple[str, str, str]] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)


Beside = Callable[[list[Caller], Tally], Awaitable[None]]
"""What is tried while the callers still have their rights."""


async def main(way: Way) -> int:
    """Runs it; gives the exit code."""

    async def trial(suite: ProcessSuite, _world: World) -> bool:
        timeout = aiohttp.ClientTimeout(total=60)
        jar = aiohttp.DummyCookieJar()
        places = [
            Place(one.service, one.node, one.url, one.log) for one in suite.processes.values()
        ]
        with tempfile.TemporaryDirectory() as made:
            async with aiohttp.ClientSession(timeout=timeout, cookie_jar=jar) as session:

                async def beside(callers: list[Caller], tally: Tally) -> None:
                    for number, part in enumerate((_commands, _code, _pages, _topics)):
                        folder = Path(made) / str(number)
                        folder.mkdir()
                        await part(places, session, callers, folder, tally)

                return told(await judged(places, session, beside))

    return await tried("rights", trial, way, plan=PROCESSES, overrides=SETTINGS)


async def judged(
    places: Sequence[Place], session: aiohttp.ClientSession, beside: Beside | None = None
) -> Tally:
    """Every caller at every route of every process, then all of them revoked."""
    doors = [one for one in places if one.service in OF]
    callers = await _callers(session, _url(places, "coordinator"))
    tally = Tally(callers=len(callers))
    for caller in callers:
        await asyncio.gather(*(_at(place, session, caller, tally) for place in doors))
    if beside is not None:
        await beside(callers, tally)
    await _revoked(doors, session, [one for one in callers if one.revoke], tally)
    tally.wrong += _told_in_logs(places, callers)
    return tally


def _url(places: Sequence[Place], service: str) -> str:
    return next(one.url for one in places if one.service == service)


def _sessions(callers: Sequence[Caller]) -> list[tuple[Caller, str]]:
    """Users that are logged in, and what they show."""
    return [
        (one, one.shown.removeprefix("Bearer "))
        for one in callers
        if one.principal is not None and one.label.startswith("session of ")
    ]


async def _commands(
    places: Sequence[Place],
    _session: aiohttp.ClientSession,
    callers: Sequence[Caller],
    folder: Path,
    tally: Tally,
) -> None:
    """Each command that talks to a suite, by each role."""
    typists = [
        rights_commands.Typist("nobody", "", None),
        rights_commands.Typist("a wrong token", "lockstep_000000000000_wrong", None),
        *(
            rights_commands.Typist(one.label, token, one.principal, PASSWORD)
            for one, token in _sessions(callers)
        ),
    ]
    urls = {name: _url(places, name) for name in ("coordinator", "receiver", "presenter")}
    done, wrong = await asyncio.to_thread(rights_commands.tried, typists, urls, folder)
    tally.commands = len(done)
    tally.asked += len(done) * len(typists)
    tally.wrong += wrong


async def _code(
    places: Sequence[Place],
    session: aiohttp.ClientSession,
    _callers: Sequence[Caller],
    folder: Path,
    tally: Tally,
) -> None:
    """Code of an app's author, by every way in."""
    trial = rights_code.Trial(session, _url(places, "coordinator"), CLUSTER)
    await trial.run(folder)
    tally.asked += trial.asked
    tally.wrong += trial.wrong


async def _pages(
    places: Sequence[Place],
    session: aiohttp.ClientSession,
    callers: Sequence[Caller],
    _folder: Path,
    tally: Tally,
) -> None:
    """Each page of the console, by each role, while two apps run."""
    base = _url(places, "coordinator")
    for app in (APP, OTHER):
        text = f"@app:name('{app}') define stream In (n int); from In select n insert into Out;"
        await _tell(session, "PUT", f"{base}/v1/apps", {"text": text})
    people = [
        (one.label, token, one.principal)
        for one, token in _sessions(callers)
        if one.principal is not None
    ]
    looked = await rights_pages.tried(session, _url(places, "console"), people)
    for app in (APP, OTHER):
        await _tell(session, "DELETE", f"{base}/v1/apps/{app}", None)
    tally.pages = len(looked.pages)
    tally.asked += len(rights_pages.PAGES) * (len(people) + 2)
    tally.wrong += looked.wrong


async def _topics(
    _places: Sequence[Place],
    _session: aiohttp.ClientSession,
    _callers: Sequence[Caller],
    folder: Path,
    tally: Tally,
) -> None:
    """Each subject of the bus, by each kind of client."""
    found = await rights_topics.tried(folder)
    tally.topics = len(found.topics)
    tally.asked += len(found.topics) * len(rights_topics.CLIENTS)
    tally.wrong += found.wrong


def told(tally: Tally) -> bool:
    """The last lines."""
    for line in tally.wrong[:20]:
        print(f"rights: {line}")
    print(
        f"rights: asked={tally.asked} callers={tally.callers} revoked={tally.out}"
        f" all_out_after_ms={tally.out_ms}"
    )
    print(
        f"rights: {'FAILED' if tally.wrong else 'ok'} routes={len(tally.routes)}"
        f" roles={len(Role)} topics={tally.topics} commands={tally.commands}"
        f" pages={tally.pages} wrong={len(tally.wrong)}"
    )
    return not tally.wrong


def _told_in_logs(places: Sequence[Place], callers: Sequence[Caller]) -> list[str]:
    """Secrets that stand in the log of a process."""
    secrets = {CLUSTER, PASSWORD, *(one.shown.partition(" ")[2] for one in callers if one.shown)}
    logs = {one.node: one.log.read_text(errors="replace") for one in places}
    return [
        f"a secret in the log of {node}"
        for node, log in logs.items()
        if any(secret in log for secret in secrets)
    ]


async def _tell(
    session: aiohttp.ClientSession, method: str, url: str, body: Any, shown: str = ""
) -> Any:
    headers = {"Authorization": shown or f"Bearer {CLUSTER}"}
    async with session.request(method, url, json=body, headers=headers) as response:
        answer = await response.json()
        assert response.status < 400, (url, response.status, answer)
        return answer


async def _callers(session: aiohttp.ClientSession, base: str) -> list[Caller]:
    """Nobody, the cluster, and of each role a user and a token, on one app and everywhere."""
    await _tell(session, "PUT", f"{base}/v1/users/root",
                {"role": "administer", "password": PASSWORD})  # fmt: skip
    found = [
        Caller("nobody", "", None),
        Caller("a wrong token", "Bearer lockstep_000000000000_wrong", None),
    ]
    for role in Role:
        for app in (APP, "*"):
            grant = Grant(role, app)
            name = f"{role}-{'all' if app == '*' else app}"
            await _tell(session, "PUT", f"{base}/v1/users/{name}", {"password": PASSWORD})
            given = {"user": name, "role": role} | ({} if app == "*" else {"app": app})
            await _tell(session, "POST", f"{base}/v1/grants", given)
            body = {"user": name, "password": PASSWORD}
            login = await _tell(session, "POST", f"{base}/v1/login", body)
            user = Principal(Kind.USER, name, frozenset({grant}))
            gone = ("DELETE", f"{base}/v1/users/{name}")
            found.append(Caller(f"session of {name}", f"Bearer {login['token']}", user, gone))
            if app == APP:
                found.append(Caller(f"basic of {name}", _basic(name, PASSWORD), user, gone))
            asked = {"name": name, "grants": [{"role": role, "app": app}]}
            made = await _tell(session, "POST", f"{base}/v1/tokens", asked)
            token = Principal(Kind.TOKEN, name, frozenset({grant}))
            gone = ("DELETE", f"{base}/v1/tokens/{made['id']}")
            found.append(Caller(f"token {name}", f"Bearer {made['token']}", token, gone))
    return found


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


async def _at(process: Place, session: aiohttp.ClientSession, caller: Caller, tally: Tally) -> None:
    for (method, path), need in OF[process.service].items():
        if caller.principal is not None and path == "/v1/logout":
            continue  # it would end the caller's own session
        for app in (APP, OTHER) if "{app}" in path else (APP,):
            tally.routes.add((process.service, method, path))
            tally.asked += 1
            status = await _asked(session, process.url, caller, method, path, app)
            expected = _expected(caller.principal, CLAIMED if path == "/{path}" else need, app)
            if not _is_as_written(status, expected):
                tally.wrong.append(
                    f"{caller.label} {method} {process.service}{path} on {app}: {status},"
                    f" expected {expected or 'another answer'}"
                )


def _expected(caller: Principal | None, need: Need, app: str) -> int:
    """0: it is let in."""
    if need.scope is Scope.OPEN:
        return 0
    if caller is None:
        return 401
    return 0 if refusal(caller, need, app) is None else 403


def _is_as_written(status: int, expected: int) -> bool:
    return status == expected if expected else status not in AWAY


async def _asked(
    session: aiohttp.ClientSession, url: str, caller: Caller, method: str, path: str, app: str
) -> int:
    """The status alone: what comes behind it may have no end. Bodies are such as no route takes, so
    that nothing changes."""
    names = {**NAMES, "app": app}
    place = re.sub(r"\{(\w+)\}", lambda match: names[match[1]], path)
    headers = {"Authorization": caller.shown} if caller.shown else {}
    async with session.request(method, url + place, data=b"{", headers=headers) as response:
        return response.status


async def _revoked(
    places: Sequence[Place],
    session: aiohttp.ClientSession,
    callers: Sequence[Caller],
    tally: Tally,
) -> None:
    """All are taken their rights, and have to be out everywhere in time."""
    for place in {one.revoke for one in callers if one.revoke is not None}:
        await _tell(session, place[0], place[1], None)
    clock = SystemClock()
    began_ms = clock.monotonic_ms()
    for caller in callers:
        for process in places:
            while True:
                status = await _asked(session, process.url, caller, "GET", "/openapi.json", APP)
                if status == 401 or clock.monotonic_ms() - began_ms > OUT_WITHIN_MS:
                    break
                await clock.sleep_ms(POLL_MS)
            if status != 401:
                tally.wrong.append(f"{caller.label} is not out of {process.node}: {status}")
                break
        else:
            tally.out += 1
    tally.out_ms = clock.monotonic_ms() - began_ms


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    Way.ask(parser)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(Way.of(options))))
