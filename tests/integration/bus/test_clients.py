"""Clients of the bus with accounts of their own, as `lockstep nats-users` writes them, on a real
NATS server: what each may, what nobody else may, and who comes and goes without a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.errors import Error

from lockstep.bus.nats import NatsBus
from lockstep.bus.subjects import input_subject
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.embedded.nats_server import ACCOUNTS_FILE
from tests.contract.bus.carriers import fresh_log, one_event, with_limits
from tests.contract.patience import PATIENCE_S, eventually, read_on
from tests.unit.cli.conftest import Lockstep, lockstep

__all__ = ["lockstep"]
PASSWORD = "correct horse battery"
HASH = "$2b$04$abcdefghijklmnopqrstuuqREtd3VJD2QVZbuFskFSLk6eRIrQoOS"
"""Of that password, by bcrypt."""
FEEDER, VIEWER = {"send": ["Hot"]}, {"view": ["Hot"]}
OTHER = {"send": ["Cold"], "view": ["Cold"]}
STRANGE = (
    "ingress.Cold.S", "ingress.>", "presenter.Hot.S", "in.Hot.main.0", "out.Hot.main.0",
    "dead.Hot.S", "control.leads", "topic.t", "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.DELETE.ingress", "$SYS.REQ",
)  # fmt: skip
HIDDEN = (
    ">", "in.>", "out.>", "dead.>", "control.>", "topic.>", "ingress.>", "ingress.Hot.>",
    "presenter.>", "presenter.Cold.>", "presenter.*.S", "$JS.API.>", "$SYS.>",
)  # fmt: skip


class Door:
    """A server, and who may come to it."""

    def __init__(self, folder: Path, command: Lockstep) -> None:
        self.server = NatsServer(
            folder / "nats", clock=SystemClock(), randomness=SystemRandomness()
        )
        self._folder = folder
        self._command = command
        self._clients: list[Client] = []
        self.denied: list[str] = []

    def write(self, clients: Mapping[str, Mapping[str, list[str]]]) -> None:
        """What the server reads when it starts, or is told to."""
        (self._folder / "password").write_text(PASSWORD + "\n")
        (self._folder / "hash").write_text(HASH + "\n")
        lines = ["[suite]", f"password_file = '{self.server.directory / 'password'}'"]
        assert self.server.password
        for name, may in clients.items():
            file = "hash" if name == "viewer" else "password"
            lines += [f"[clients.{name}]", f"password_file = '{file}'"]
            lines += [f"{verb} = {apps}" for verb, apps in may.items()]
        description = self._folder / "clients.toml"
        description.write_text("\n".join(lines))
        done = self._command("nats-users", description, self.server.directory / ACCOUNTS_FILE)
        assert done.exit_code == 0, done.stderr
        assert PASSWORD not in done.stdout + done.stderr

    async def client(self, name: str) -> Client:
        """A connection that stays closed once it was closed."""

        async def noted(error: Exception) -> None:
            self.denied.append(str(error))

        host = f"nats://127.0.0.1:{self.server.port}"
        made = await nats.connect(
            host, user=name, password=PASSWORD, allow_reconnect=False, error_cb=noted,
            connect_timeout=PATIENCE_S,
        )  # fmt: skip
        self._clients.append(made)
        return made

    async def is_refused(self, name: str) -> bool:
        """To be let in at all."""
        try:
            await self.client(name)
        except (Error, ConnectionResetError):
            return True
        return False

    async def refuses(self, subject: str, verb: str, client: Client) -> None:
        """Says so: the server names verb and subject."""
        if verb == "publish":
            await client.publish(subject, b"{}")
        else:
            await client.subscribe(subject)
        kind = "publish" if verb == "publish" else "subscription"
        wanted = f'permissions violation for {kind} to "{subject}"'.lower()

        async def denied() -> bool:
            return any(wanted in one.lower() for one in self.denied)

        await eventually(denied)

    async def has_reloaded(self, count: int) -> bool:
        """So many times since it started."""
        log = (self.server.directory / "log").read_bytes()
        return log.count(b"Reloaded server configuration") >= count

    async def close(self) -> None:
        """All of it."""
        for one in self._clients:
            with suppress(Error):
                await one.close()
        await self.server.stop()


@pytest.fixture
async def door(tmp_path: Path, lockstep: Lockstep) -> AsyncIterator[Door]:
    """With a sender and a viewer of one app, and somebody at another."""
    made = Door(tmp_path, lockstep)
    made.write({"feeder": FEEDER, "viewer": VIEWER, "other": OTHER, "turning": VIEWER})
    await made.server.start()
    yield made
    await made.close()


@pytest.fixture
async def suite(door: Door) -> AsyncIterator[NatsBus]:
    """The suite's own bus."""
    bus = await bus_of(door)
    yield bus
    await bus.close()


async def bus_of(door: Door) -> NatsBus:
    """Connected as the suite is."""
    limits = with_limits(connect_timeout_ms=PATIENCE_S * 1_000)
    return await NatsBus.connect(door.server.url, limits, SystemRandomness())


async def taken(bus: NatsBus, payload: bytes) -> list[tuple[str, str]]:
    """Apps and streams of what has come in at the front door, up to this message."""
    found = []
    last = b""
    while last != payload:
        for one in await bus.ingress.read(max_messages=10, wait_ms=100):
            found.append((one.app, one.stream))
            last = one.payload
            await one.acknowledge()
    return found


async def seen(bus: NatsBus, app: str, view: Subscription) -> bytes:
    """The first that a view of the app is given of what is published until then: its name."""

    async def comes() -> bool:
        await bus.topics.publish(f"presenter.{app}.S", app.encode())
        return view.pending_msgs > 0

    await eventually(comes)
    return (await view.next_msg(PATIENCE_S)).data


async def test_a_sender_is_answered_and_heard(door: Door, suite: NatsBus) -> None:
    """By the stream that keeps its message; the same id again is the same message."""
    feeder = await door.client("feeder")
    for _ in range(2):
        answer = await feeder.request(
            "ingress.Hot.Reading", b"one", timeout=PATIENCE_S, headers={"Nats-Msg-Id": "1"}
        )
        assert b'"seq":1' in answer.data
    assert (await feeder.jetstream().publish("ingress.Hot.Reading", b"two")).seq == 2
    assert await taken(suite, b"two") == [("Hot", "Reading")] * 2


async def test_a_viewer_sees_its_app(door: Door, suite: NatsBus) -> None:
    """And that one alone; it publishes nowhere."""
    viewer = await door.client("viewer")
    rows = await viewer.subscribe("presenter.Hot.>")
    await viewer.flush(PATIENCE_S)
    await suite.topics.publish("presenter.Cold.S", b"cold")
    assert await seen(suite, "Hot", rows) == b"Hot"
    for subject in ("ingress.Hot.S", *STRANGE):
        await door.refuses(subject, "publish", viewer)
    for subject in (*HIDDEN, "_INBOX.>"):
        await door.refuses(subject, "subscribe", viewer)


async def test_a_sender_may_nothing_else(door: Door, suite: NatsBus) -> None:
    """No other app, no logs, no control, no JetStream."""
    feeder = await door.client("feeder")
    for subject in STRANGE:
        await door.refuses(subject, "publish", feeder)
    for subject in ("presenter.Hot.>", *HIDDEN):
        await door.refuses(subject, "subscribe", feeder)
    assert await suite.healthy()


async def test_nobody_hears_the_answers_of_others(door: Door, suite: NatsBus) -> None:
    """Inboxes are those of an account."""
    feeder, other = await door.client("feeder"), await door.client("other")
    heard = await other.subscribe("_INBOX.>")
    await other.flush(PATIENCE_S)
    await feeder.request("ingress.Hot.S", b"one", timeout=PATIENCE_S)
    await other.request("ingress.Cold.S", b"two", timeout=PATIENCE_S)
    # The first that comes is the answer to its own.
    assert b'"seq":2' in (await heard.next_msg(PATIENCE_S)).data


async def test_an_answer_reaches_no_subject_of_the_suite(door: Door, suite: NatsBus) -> None:
    """A sender names the subject that JetStream answers to; it may name a log of another app."""
    name = fresh_log()
    log = await suite.input_log(name)
    await log.append(one_event(1), dedup_id="a")
    control = await suite.topics.subscribe("control.>")
    feeder = await door.client("feeder")
    victims = (input_subject(name), "control.x", "ingress.Cold.S")
    for victim in (*victims, "$JS.API.STREAM.PURGE.ingress"):
        await feeder.publish("ingress.Hot.S", b"x", reply=victim)
    await feeder.request("ingress.Hot.S", b"last", timeout=PATIENCE_S)
    assert await taken(suite, b"last") == [("Hot", "S")] * 5
    await log.append(one_event(2), dedup_id="b")
    await suite.topics.publish("control.own", b"own")
    assert [each.position for each in await read_on(log.read, 0, 2)] == [1, 2]
    assert await anext(aiter(control)) == ("control.own", b"own")


async def test_users_come_and_go_without_a_restart(door: Door, suite: NatsBus) -> None:
    """The suite's connection stays, and so does that of whoever may still be there."""
    pid = door.server.pid
    viewer, leaver = await door.client("viewer"), await door.client("other")
    feeder, turning = await door.client("feeder"), await door.client("turning")
    rows = await viewer.subscribe("presenter.Hot.>")
    lost = await turning.subscribe("presenter.Hot.>")
    await turning.flush(PATIENCE_S)
    assert await door.is_refused("newcomer")
    turned = {"feeder": {"send": ["Mild"]}, "turning": {"view": ["Cold"]}}
    door.write({"viewer": VIEWER, "newcomer": OTHER, **turned})

    async def gone() -> bool:
        return leaver.is_closed

    for count in (1, 2):
        door.server.reload()
        await eventually(partial(door.has_reloaded, count))
    await eventually(gone)
    newcomer = await door.client("newcomer")
    await newcomer.request("ingress.Cold.S", b"new", timeout=PATIENCE_S)
    assert await door.is_refused("other")
    assert door.server.pid == pid
    await feeder.request("ingress.Mild.S", b"mild", timeout=PATIENCE_S)
    await door.refuses("ingress.Hot.S", "publish", feeder)
    assert await taken(suite, b"mild") == [("Cold", "S"), ("Mild", "S")]
    found = await turning.subscribe("presenter.Cold.>")
    await turning.flush(PATIENCE_S)
    # Just after it has read its users, the server may pass a view over that begins.
    assert await seen(suite, "Hot", rows) == b"Hot"
    assert await seen(suite, "Cold", found) == b"Cold"
    assert lost.pending_msgs == 0


async def test_logs_outlast_the_file_of_accounts(tmp_path: Path, lockstep: Lockstep) -> None:
    """A server that had no accounts keeps them when it gets some, and when these go again."""
    door = Door(tmp_path, lockstep)
    name = fresh_log()
    try:
        for number in (1, 2, 3):
            if number == 2:
                door.write({"feeder": FEEDER})
            await door.server.start()
            bus = await bus_of(door)
            log = await bus.input_log(name)
            await log.append(one_event(number), dedup_id=str(number))
            found = await read_on(log.read, 0, number)
            await bus.close()
            assert await door.is_refused("feeder") == (number != 2)
            await door.server.stop()
            (door.server.directory / ACCOUNTS_FILE).unlink(missing_ok=True)
        assert [each.record for each in found] == [one_event(1), one_event(2), one_event(3)]
    finally:
        await door.close()
