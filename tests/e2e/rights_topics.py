"""Subjects of the bus by client: a real NATS server whose accounts `lockstep nats-users` wrote.

Clients send to one app or to all, view one or all, or do both; one has a wrong password and one
shows none. Each publishes and subscribes to every subject of the table, and to those that services
tell each other on. What is allowed has to arrive; what is not has to be refused by the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import nats
from nats.aio.client import Client
from nats.errors import Error
from typer.testing import CliRunner

from lockstep.bus.nats import NatsBus
from lockstep.cli.command import app as lockstep
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.control import answers, marks, messages
from lockstep.embedded import NatsServer
from lockstep.embedded.nats_server import ACCOUNTS_FILE
from lockstep.rights import TOPICS, Grant, Kind, Principal, Role, refusal
from tests.contract.bus.carriers import with_limits

MINE: Final = "Mine"
OTHER: Final = "Other"
PASSWORD: Final = "correct horse battery"
VERBS: Final = ("publish", "subscribe")
LIMIT_S: Final = 20
CLIENTS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "send-Mine": {"send": [MINE]},
    "send-all": {"send": ["*"]},
    "view-Mine": {"view": [MINE]},
    "view-all": {"view": ["*"]},
    "both-Mine": {"send": [MINE], "view": [MINE]},
    "both-all": {"send": ["*"], "view": ["*"]},
}
CONTROL: Final = (
    messages.HEARTBEATS,
    messages.DEPLOYMENTS_CHANGED,
    messages.presence_subject("processor", "processor"),
    messages.command_subject(MINE),
    messages.question_subject(MINE),
    messages.snapshot_subject(MINE, "processor"),
    messages.redelivery_subject(MINE),
    messages.erasure_subject(MINE),
    marks.mark_subject(MINE),
    answers.answer_subject("receiver"),
)
OUTSIDE: Final = (">", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.DELETE.ingress", "$SYS.REQ")
"""What no row names is shut: all at once, JetStream's own interface, the server's."""


@dataclass(slots=True)
class Tried:
    """Which verbs at which subjects, and what went otherwise than written."""

    topics: set[tuple[str, str]] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)


def subjects() -> list[tuple[str, str, str]]:
    """(row or "", subject, app or ""): every row with names of its own, and what has no row."""
    found: list[tuple[str, str, str]] = []
    for _, row in TOPICS:
        if "{app}" in row:
            found += [(row, row.format(app=app, stream="In"), app) for app in (MINE, OTHER)]
            found.append((row, f"{row.split('.')[0]}.>", ""))
        else:
            found.append((row, row.replace(">", "Mine.main.0"), ""))
    found += [("", one, "") for one in (*CONTROL, *OUTSIDE)]
    return found


async def tried(folder: Path) -> Tried:
    """On a server of its own in the folder."""
    tally = Tried()
    async with _server(folder, tally) as (server, bus):
        for name, may in CLIENTS.items():
            await _client(server, bus, name, may, tally)
        if await _is_let_in(server, None, None):
            tally.wrong.append("nobody is let in without a word")
        if await _is_let_in(server, "send-Mine", "a wrong password"):
            tally.wrong.append("send-Mine is let in with a wrong password")
    return tally


@asynccontextmanager
async def _server(folder: Path, tally: Tried) -> AsyncIterator[tuple[NatsServer, NatsBus]]:
    server = NatsServer(folder / "nats", clock=SystemClock(), randomness=SystemRandomness())
    assert server.password, "the suite's own is made with the folder"
    (folder / "clients.password").write_text(PASSWORD + "\n")
    lines = ["[suite]", f"password_file = '{server.directory / 'password'}'"]
    for name, may in CLIENTS.items():
        lines += [f"[clients.{name}]", "password_file = 'clients.password'"]
        lines += [f"{verb} = {list(apps)}" for verb, apps in may.items()]
    (folder / "clients.toml").write_text("\n".join(lines))
    arguments = [folder / "clients.toml", server.directory / ACCOUNTS_FILE]
    written = CliRunner().invoke(lockstep, ["nats-users", *map(str, arguments)])
    if written.exit_code != 0:
        tally.wrong.append(f"lockstep nats-users: {written.stderr}")
        raise RuntimeError(written.stderr)
    await server.start()
    try:
        bus = await NatsBus.connect(server.url, with_limits(), SystemRandomness())
        try:
            yield server, bus
        finally:
            await bus.close()
    finally:
        await server.stop()


async def _client(
    server: NatsServer,
    bus: NatsBus,
    name: str,
    may: Mapping[str, Sequence[str]],
    tally: Tried,
) -> None:
    """One client at every subject."""
    grants = frozenset(Grant(Role(verb), app) for verb, apps in may.items() for app in apps)
    caller = Principal(Kind.TOKEN, name, grants)
    denied: list[str] = []
    rang = asyncio.Event()

    async def noted(error: Exception) -> None:
        denied.append(str(error).lower())
        rang.set()

    connected = await _connected(server, name, PASSWORD, noted)
    try:
        for row, subject, app in subjects():
            for verb in VERBS:
                if verb == "publish" and ">" in subject:
                    continue  # nobody publishes to many subjects at once
                need = TOPICS.get((verb, row))
                allowed = need is not None and refusal(caller, need, app or None) is None
                tally.topics.add((verb, row or subject))
                went = await _does(connected, bus, verb, subject, allowed=allowed)
                kind = "publish" if verb == "publish" else "subscription"
                wanted = f'permissions violation for {kind} to "{subject}"'.lower()
                refused = await _says(wanted, denied, rang, within_s=0 if allowed else LIMIT_S)
                if refused == allowed or (allowed and not went):
                    said = "refused" if refused else "let in" if went else "not carried"
                    tally.wrong.append(f"{name} may {verb} {subject}: {said}, expected {allowed}")
    finally:
        with suppress(Error):
            await connected.close()


async def _says(wanted: str, denied: list[str], rang: asyncio.Event, within_s: float) -> bool:
    """Whether the server refuses it; its word comes behind that of the flush, by a task."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s or None):
            while within_s and not any(wanted in one for one in denied):
                rang.clear()
                await rang.wait()
    found = any(wanted in one for one in denied)
    denied.clear()
    return found


async def _does(client: Client, bus: NatsBus, verb: str, subject: str, *, allowed: bool) -> bool:
    """Whether it arrived, where it may; the server has said by the end what it refuses."""
    if verb == "publish":
        if allowed:
            with suppress(Error, asyncio.TimeoutError):
                return b'"seq"' in (await client.request(subject, b"{}", timeout=LIMIT_S)).data
            return False
        await client.publish(subject, b"{}")
        await client.flush(LIMIT_S)
        return True
    heard = await client.subscribe(subject)
    await client.flush(LIMIT_S)
    try:
        if not allowed:
            return True
        # The flush is no promise for what other accounts publish: what comes in the moment behind
        # it may pass by.
        for _ in range(LIMIT_S):
            await bus.topics.publish(subject, b"row")
            with suppress(Error, asyncio.TimeoutError):
                return (await heard.next_msg(1)).data == b"row"
        return False
    finally:
        with suppress(Error):
            await heard.unsubscribe()


async def _connected(
    server: NatsServer, name: str | None, password: str | None, noted: object = None
) -> Client:
    return await nats.connect(
        f"nats://127.0.0.1:{server.port}", user=name, password=password, allow_reconnect=False,
        error_cb=noted, connect_timeout=LIMIT_S,
    )  # fmt: skip


async def _is_let_in(server: NatsServer, name: str | None, password: str | None) -> bool:
    async def silent(_error: Exception) -> None:
        """The refusal is what is looked for."""

    try:
        client = await _connected(server, name, password, silent)
    except (Error, ConnectionResetError):
        return False
    await client.close()
    return True
