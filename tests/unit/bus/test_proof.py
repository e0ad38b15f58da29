"""Proof of the cluster's secret: what is heard and what is not; no control subject lacks it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lockstep.bus import BusLimits, control_subject
from lockstep.bus.contract import Bus
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.bus.proof import MARK, Opened, Proofs, Unproven
from lockstep.bus.proven import Strangers, proven
from lockstep.clock import VirtualClock
from lockstep.control import answers, flows, marks, messages
from lockstep.events import UnavailableError
from lockstep.settings import SettingsError, load_settings
from lockstep.telemetry.seldom import MINUTE_MS

ROOT = Path(__file__).parents[3]
SECRET, NEXT = "the secret of this cluster", "the next secret of it"
SUBJECT = control_subject("command", "Hot")
AGE_MS = 30_000
MODULES = (messages, marks, flows, answers)
NAMES: Mapping[str, str] = {
    "unit": "Hot", "app": "Hot", "node": "one", "service": "processor",
}  # fmt: skip


def subjects() -> dict[str, str]:
    """Every subject that `lockstep.control` has, by what makes it."""
    found = {"HEARTBEATS": messages.HEARTBEATS, "DEPLOYMENTS": messages.DEPLOYMENTS_CHANGED}
    for module in MODULES:
        for name, made in inspect.getmembers(module, inspect.isfunction):
            if name.endswith("_subject") and made.__module__ == module.__name__:
                found[name] = made(*(NAMES[one] for one in inspect.signature(made).parameters))
    return found


def proofs(*secrets: str, clock: VirtualClock | None = None, **more: bool) -> Proofs:
    """With these secrets."""
    return Proofs(secrets, clock or VirtualClock(1_000_000), AGE_MS, **more)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda sent: sent[len(MARK) + 40 :], Unproven.NONE),
        (lambda sent: MARK + sent[4:20], Unproven.NONE),
        (lambda sent: sent + b" ", Unproven.WRONG),
        (lambda sent: sent[:5] + b"\1" + sent[6:], Unproven.WRONG),
        (lambda sent: sent[:20] + bytes([sent[20] ^ 1]) + sent[21:], Unproven.WRONG),
    ],
)
def test_what_was_changed_or_has_no_proof_is_not_heard(change: Any, why: Unproven) -> None:
    """Payload, time and proof; a message for one subject is none for another."""
    mine = proofs(SECRET)
    sent = mine.sealed(SUBJECT, b"{}")
    assert SECRET.encode() not in sent
    assert isinstance(mine.opened(SUBJECT, sent), Opened)
    assert mine.opened(SUBJECT, change(sent)) is why
    assert mine.opened(control_subject("command", "Cold"), sent) is Unproven.WRONG
    assert proofs("another secret of a cluster").opened(SUBJECT, sent) is Unproven.WRONG


async def test_a_message_is_heard_for_a_bounded_time() -> None:
    """Also when its sender's clock is ahead."""
    clock = VirtualClock(1_000_000)
    mine = proofs(SECRET, clock=clock)
    sent = mine.sealed(SUBJECT, b"{}")
    clock.set_ms(1_000_000 + AGE_MS)
    assert isinstance(mine.opened(SUBJECT, sent), Opened)
    clock.set_ms(1_000_000 + AGE_MS + 1)
    assert mine.opened(SUBJECT, sent) is Unproven.OLD
    ahead = mine.sealed(SUBJECT, b"{}")
    late = proofs(SECRET, clock=VirtualClock(1_000_000))
    assert late.opened(SUBJECT, ahead) is Unproven.OLD


def test_a_secret_is_exchanged_and_introduced_without_a_stop() -> None:
    """Each step of it: old and new hear each other, whoever was told first."""
    old, told = proofs(SECRET), proofs(SECRET, NEXT)
    turned, new = proofs(NEXT, SECRET), proofs(NEXT)
    for one, other in ((old, told), (told, turned), (turned, new)):
        for sender, hearer in ((one, other), (other, one)):
            assert isinstance(hearer.opened(SUBJECT, sender.sealed(SUBJECT, b"a")), Opened)
    assert new.opened(SUBJECT, old.sealed(SUBJECT, b"a")) is Unproven.WRONG
    without, beginning = proofs(), proofs(SECRET, hears_unproven=True)
    for sender, hearer in ((without, beginning), (beginning, without), (beginning, old)):
        found = hearer.opened(SUBJECT, sender.sealed(SUBJECT, b"a"))
        assert isinstance(found, Opened)
        assert found.payload == b"a"
    assert old.opened(SUBJECT, without.sealed(SUBJECT, b"a")) is Unproven.NONE


def carried(carrier: MemoryCarrier, strangers: Strangers, *secrets: str) -> Bus:
    """A participant with these secrets."""
    bus = MemoryBus(carrier, "one")
    return proven(bus, Proofs(secrets, carrier.clock, AGE_MS), strangers)


class Place:
    """A carrier, the cluster's bus, and that of a stranger who knows the bus's password."""

    def __init__(self) -> None:
        self.clock = VirtualClock(1_000_000)
        limits = BusLimits.of(load_settings({}))
        carrier = MemoryCarrier(self.clock, limits)
        self.strangers = Strangers(self.clock)
        self.counted: list[str] = []
        self.strangers.count = self.counted.append
        self.ours = carried(carrier, self.strangers, SECRET)
        self.others = carried(carrier, Strangers(self.clock), "of another cluster")
        self.raw = MemoryBus(carrier, "stranger")


async def test_every_control_subject_carries_proof() -> None:
    """Whatever services tell each other. A subject that is new is found by the functions that make
    them; and subjects are made nowhere else."""
    found = subjects()
    made = [
        node.name
        for path in (ROOT / "libs/lockstep/control").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_subject")
    ]
    assert set(made) | {"HEARTBEATS", "DEPLOYMENTS"} == set(found)
    place = Place()
    heard = await place.raw.topics.subscribe(">")
    for name, subject in found.items():
        assert subject.startswith("control."), name
        await place.ours.topics.publish(subject, b"{}")
        assert (await anext(aiter(heard)))[1].startswith(MARK), name
    await place.ours.topics.publish("presenter.Hot.S", b"row")
    assert await anext(aiter(heard)) == ("presenter.Hot.S", b"row")


def test_processes_open_the_bus_where_proof_is_added() -> None:
    """And nobody writes a control subject by hand."""
    opened, by_hand = [], []
    for path in [*ROOT.glob("libs/lockstep/**/*.py"), *ROOT.glob("services/**/*.py")]:
        text = path.read_text()
        if "open_bus(" not in text and "control." not in text:
            continue  # to read the trees of all files takes seconds
        for node in ast.walk(ast.parse(text)):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name == "open_bus":
                opened.append(path.relative_to(ROOT).as_posix())
            first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else None
            if isinstance(first, ast.Constant) and str(first.value).startswith("control."):
                by_hand.append(path.relative_to(ROOT).as_posix())
    assert opened == ["libs/lockstep/frame/world.py"]
    assert by_hand == []


async def test_who_listens_does_not_hear_strangers() -> None:
    """They are counted, by what is wrong; others come through."""
    place = Place()
    heard = await place.ours.topics.subscribe("control.>")
    await place.raw.topics.publish(SUBJECT, b"forged")
    await place.others.topics.publish(SUBJECT, b"forged, too")
    await place.ours.topics.publish(SUBJECT, b"true")
    assert await anext(aiter(heard)) == (SUBJECT, b"true")
    assert place.counted == ["no proof", "wrong proof"]


async def test_who_answers_does_nothing_for_strangers_and_an_answer_is_for_its_question() -> None:
    """A stranger's answer is none, and neither is one to another question."""
    place, done = Place(), []

    async def obey(command: bytes) -> bytes:
        done.append(command)
        return b"done"

    answering = await place.ours.topics.respond(SUBJECT, obey)
    assert await place.ours.topics.request(SUBJECT, b"move", timeout_ms=10) == b"done"
    assert await place.raw.topics.request(SUBJECT, b"move", timeout_ms=10) == b""
    with pytest.raises(UnavailableError, match="did not take the proof"):
        await place.others.topics.request(SUBJECT, b"move", timeout_ms=10)
    assert done == [b"move"]
    await answering.close()
    kept: list[bytes] = []

    async def repeat(_question: bytes) -> bytes:
        return kept[0]

    await place.raw.topics.respond(SUBJECT, repeat)
    for said in (b"forged", proofs(SECRET).sealed(SUBJECT, b"done"), proofs(NEXT).sealed("x", b"")):
        kept[:] = [said]
        with pytest.raises(UnavailableError, match="no good proof"):
            await place.ours.topics.request(SUBJECT, b"move", timeout_ms=10)


async def test_strangers_are_told_of_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    """A flood of them is two lines, with what to do."""
    place = Place()
    for _ in range(500):
        place.strangers.note(SUBJECT, Unproven.NONE)
    await place.clock.advance_ms(MINUTE_MS)
    place.strangers.note(SUBJECT, Unproven.NONE)
    told = [line for line in capsys.readouterr().err.splitlines() if "was not heard" in line]
    assert len(told) == 2, told
    assert "others=499" in told[1]
    assert "give the process the secret" in told[0]
    assert len(place.counted) == 501


@pytest.mark.parametrize(
    "given",
    [{"SECRET": "short"}, {"SECOND_SECRET": SECRET}, {"ACCEPT_UNPROVEN": "true"}],
)
def test_settings_that_would_protect_nothing_are_refused(given: dict[str, str]) -> None:
    """A short secret, a second one alone, and asking for nothing without one."""
    with pytest.raises(SettingsError):
        load_settings({f"LOCKSTEP_CLUSTER__{name}": value for name, value in given.items()})
