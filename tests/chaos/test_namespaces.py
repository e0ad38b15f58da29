"""Real namespaces, real TCP: what is cut vanishes, also on connections under way, in that direction
alone."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.namespaces import Lan, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"no namespaces: {why_not()}")

PORT = 4_000
ARRIVES_S = 10.0
VANISHES_S = 1.0  # longer than several of TCP's repetitions here
MILLISECONDS = 1_000
FOR_EVER_MS = 600_000


@pytest.fixture
def lan() -> Iterator[Lan]:
    """Two hosts and a watcher."""
    with Lan(["a", "b"], watcher="watcher") as made:
        yield made


class Wire:
    """A connection under way from one host to the other: both ends."""

    def __init__(self, lan: Lan, source: str, target: str) -> None:
        self._listener = lan.namespace(target).call(
            lambda: socket.create_server((lan.address(target), PORT))
        )
        self.near = lan.namespace(source).call(
            lambda: socket.create_connection((lan.address(target), PORT), timeout=ARRIVES_S)
        )
        self.far, _ = self._listener.accept()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self.near, self.far, self._listener):
            each.close()


def arrives(receiver: socket.socket, wanted: bytes, within_s: float) -> bool:
    """Whether exactly that is read in time; an ended or reset connection is an error."""
    receiver.settimeout(within_s)
    try:
        received = receiver.recv(len(wanted))
    except TimeoutError:
        return False
    assert received == wanted, "the connection has ended"
    return True


def test_nothing_passes_a_cut_and_nobody_is_told(lan: Lan) -> None:
    """Bytes wait for the mending, as TCP repeats them; neither end hears of the cut."""
    with Wire(lan, "a", "b") as wire:
        wire.near.sendall(b"before")
        assert arrives(wire.far, b"before", ARRIVES_S)
        lan.cut([("a", "b"), ("b", "a")])
        wire.near.sendall(b"one")
        wire.far.sendall(b"two")
        assert not arrives(wire.far, b"one", VANISHES_S)
        assert not arrives(wire.near, b"two", 0.1)
        lan.mend()
        assert arrives(wire.far, b"one", ARRIVES_S)
        assert arrives(wire.near, b"two", ARRIVES_S)


def test_one_direction_alone_is_cut(lan: Lan) -> None:
    """The request arrives, the answer does not."""
    with Wire(lan, "a", "b") as wire:
        lan.cut([("b", "a")])
        wire.near.sendall(b"request")
        assert arrives(wire.far, b"request", ARRIVES_S)
        wire.far.sendall(b"answer")
        assert not arrives(wire.near, b"answer", VANISHES_S)


@pytest.mark.parametrize("pair", [("a", "b"), ("b", "a")])
def test_no_connection_comes_about_over_a_cut_and_none_is_refused(
    lan: Lan, pair: tuple[str, str]
) -> None:
    """Silence, whichever direction is cut."""
    listener = lan.namespace("b").call(lambda: socket.create_server((lan.address("b"), PORT)))
    lan.cut([pair])
    with listener, pytest.raises(TimeoutError):
        lan.namespace("a").call(
            lambda: socket.create_connection((lan.address("b"), PORT), timeout=VANISHES_S)
        )


def test_the_watcher_and_the_others_are_not_touched(lan: Lan) -> None:
    """Who watches is not cut, even when asked for."""
    lan.cut([("a", "b"), ("b", "a"), ("watcher", "a"), ("a", "watcher")])
    with Wire(lan, "watcher", "a") as wire:
        wire.near.sendall(b"question")
        assert arrives(wire.far, b"question", ARRIVES_S)
        wire.far.sendall(b"answer")
        assert arrives(wire.near, b"answer", ARRIVES_S)


async def test_a_slow_host_answers_later_by_the_delay_of_both_ways(lan: Lan) -> None:
    """Packets come late and whole, and on time again when it is mended."""
    delay_ms = 60
    with Wire(lan, "a", "b") as wire:
        for each in (wire.near, wire.far):
            each.setblocking(False)
        loop = asyncio.get_running_loop()

        async def round_trip_ms() -> float:
            began = time.monotonic()
            await loop.sock_sendall(wire.near, b"x")
            await loop.sock_recv(wire.far, 1)
            await loop.sock_sendall(wire.far, b"y")
            await loop.sock_recv(wire.near, 1)
            return (time.monotonic() - began) * MILLISECONDS

        async with asyncio.timeout(ARRIVES_S):
            lan.slow(["b"], delay_ms)
            assert await round_trip_ms() >= 2 * delay_ms
            lan.slow(["b"], FOR_EVER_MS)
            lan.mend()
            await round_trip_ms()


def test_nothing_is_added_to_the_machine_s_own_network() -> None:
    """No interface outside, so nothing to clear away there."""
    before = socket.if_nameindex()
    with Lan(["a"], watcher="watcher") as lan:
        assert socket.if_nameindex() == before
        assert lan.namespace("a").call(socket.if_nameindex) != before


def test_a_process_runs_where_it_is_taken(lan: Lan) -> None:
    """It has the host's address."""
    done = subprocess.run(
        [*lan.machine("a").through, "ip", "-o", "-4", "address", "show", "dev", "eth0"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{lan.address('a')}/" in done.stdout


HOLDER = """
import sys, time
from tests.chaos.namespaces import Lan
with Lan(["a"], watcher="watcher") as lan:
    import os
    print(lan.namespace("a").call(lambda: os.readlink("/proc/thread-self/ns/net")), flush=True)
    time.sleep(600)
"""


def test_a_killed_run_leaves_no_namespace_behind() -> None:
    """SIGKILL, and the kernel has taken it back."""
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'libs'}"}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert holder.stdout is not None
    with holder.stdout as said:
        made = said.readline().strip()
        assert made in _namespaces_in_use(), "the test cannot see namespaces"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert made not in _namespaces_in_use()


def _namespaces_in_use() -> set[str]:
    """Network namespaces that any process runs in, or holds open, or has a name for."""
    found = set()
    for path in [*Path("/proc").glob("[0-9]*/ns/net"), *Path("/proc").glob("[0-9]*/fd/*")]:
        try:
            found.add(os.readlink(path))
        except OSError:
            continue
    return found
