"""A small network of hosts: each is a network namespace of its own, all are joined by a router.

Whatever passes between two hosts passes the router, and there any direction between any two is cut:
packets vanish, also those of connections under way; nobody hears a FIN, a RST or an ICMP message.

The namespaces have no names. They are held by this process and by those that run in them, so the
kernel clears them away when the last of these is gone, however it ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, TypeVar

from lockstep.embedded import Machine
from tests.chaos.delaying import DelayingDevice

T = TypeVar("T")
Pair = tuple[str, str]

_CLONE_NEWNET: Final = 0x40000000
_NET: Final = "10.77"
_ALWAYS, _CUT, _DELAYED, _SLOW = 10, 20, 30, 40  # order of the router's rules
_SLOW_TABLE: Final = 100
_PROGRAMS: Final = ("ip", "nsenter")
_MOST_HOSTS: Final = 200


class NamespaceError(Exception):
    """The kernel or `ip` refused; says what."""


class Namespace:
    """One network namespace with its loopback up; `close` it."""

    def __init__(self) -> None:
        self._file = _in_thread(_made)
        self.call(lambda: ip("link set lo up"))

    @property
    def through(self) -> tuple[str, ...]:
        """In front of a command: it runs in here."""
        return ("nsenter", f"--net=/proc/{os.getpid()}/fd/{self._file}", "--")

    def call(self, function: Callable[[], T]) -> T:
        """The function's result, run in here, in a thread that ends with it."""

        def entered() -> T:
            _enter(self._file)
            return function()

        return _in_thread(entered)

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """This thread, and what it starts, is in here within the block."""
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter(self._file)
            yield
        finally:
            _enter(before)
            os.close(before)

    def close(self) -> None:
        """Lets go of it."""
        os.close(self._file)


class Lan:
    """Use as a context manager. `watcher` is a host whose lines are never cut nor slowed."""

    def __init__(self, hosts: Iterable[str], *, watcher: str) -> None:
        self._hosts = [watcher, *(host for host in hosts if host != watcher)]
        if len(self._hosts) > _MOST_HOSTS:
            raise NamespaceError(f"more than {_MOST_HOSTS} hosts")
        self._watcher = watcher
        self._addresses = {
            host: f"{_NET}.{number}.2" for number, host in enumerate(self._hosts, start=1)
        }
        self._namespaces: dict[str, Namespace] = {}
        self._router: Namespace | None = None
        self._delaying: DelayingDevice | None = None

    def __enter__(self) -> Lan:
        try:
            self._make()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of all namespaces; idempotent."""
        if self._delaying is not None:
            self._delaying.close()
            self._delaying = None
        for namespace in self._namespaces.values():
            namespace.close()
        self._namespaces.clear()
        if self._router is not None:
            self._router.close()
            self._router = None

    def address(self, host: str) -> str:
        """IPv4."""
        return self._addresses[host]

    def namespace(self, host: str) -> Namespace:
        """Where the host's processes run."""
        return self._namespaces[host]

    def machine(self, host: str) -> Machine:
        """For what starts a process there."""
        return Machine(self._addresses[host], self._namespaces[host].through)

    def cut(self, pairs: Sequence[Pair]) -> None:
        """From now on nothing of the (sender, receiver) pairs arrives. Adds to what is cut: no pair
        twice."""
        self._rule_all(
            f"pref {_CUT} from {self._addresses[a]} to {self._addresses[b]} blackhole"
            for a, b in pairs
        )

    def slow(self, hosts: Sequence[str], delay_ms: int) -> None:
        """Every packet to or from these, and no others, takes so much longer. Needs a running
        event loop."""
        if self._delaying is None:
            self._delaying = self._call(DelayingDevice)
            self._ip(
                f"link set {self._delaying.name} up",
                f"route add default dev {self._delaying.name} table {_SLOW_TABLE}",
                # What comes back from the device has waited, and goes its way.
                f"rule add pref {_DELAYED} iif {self._delaying.name} lookup main",
            )
        self._delaying.serve()
        self._delaying.delay_ms = delay_ms
        self._clear(_SLOW)
        self._rule_all(
            f"pref {_SLOW} {way} {self._addresses[host]} lookup {_SLOW_TABLE}"
            for host in hosts
            for way in ("from", "to")
        )

    def mend(self) -> None:
        """As if nothing had been."""
        self._clear(_CUT)
        self._clear(_SLOW)

    def _clear(self, preference: int) -> None:
        rules = self._call(partial(ip, f"rule show pref {preference}")).splitlines()
        if rules:
            self._ip(*[f"rule delete pref {preference}"] * len(rules))

    def _make(self) -> None:
        self._router = Namespace()
        self._call(_become_router)
        for number, host in enumerate(self._hosts, start=1):
            namespace = self._namespaces[host] = Namespace()
            ours, gateway = self._addresses[host], f"{_NET}.{number}.1"
            held = namespace.through[1].partition("=")[2]
            self._ip(
                f"link add h{number} type veth peer name eth0 netns {held}",
                f"address add {gateway}/24 dev h{number}",
                f"link set h{number} up",
            )
            own = (
                f"address add {ours}/24 dev eth0",
                "link set eth0 up",
                f"route add default via {gateway}",
            )
            namespace.call(partial(ip, *own))
        watcher = self._addresses[self._watcher]
        self._rule_all(f"pref {_ALWAYS} {way} {watcher} lookup main" for way in ("from", "to"))

    def _rule_all(self, rules: Iterable[str]) -> None:
        self._ip(*(f"rule add {rule}" for rule in rules))

    def _ip(self, *lines: str) -> None:
        self._call(lambda: ip(*lines))

    def _call(self, function: Callable[[], T]) -> T:
        assert self._router is not None
        return self._router.call(function)


def why_not() -> str | None:
    """Why no namespaces can be made here; None when they can."""
    if os.geteuid() != 0:
        return "needs root"
    for program in _PROGRAMS:
        if shutil.which(program) is None:
            return f"needs `{program}`"
    try:
        with Lan(["a"], watcher="watcher") as lan:
            lan.cut([("a", "watcher")])
    except (NamespaceError, OSError) as error:
        return str(error)
    return None


def ip(*lines: str) -> str:
    """Runs lines of `ip` in this thread's namespace; gives the output. NamespaceError."""
    done = subprocess.run(
        ["ip", "-batch", "-"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise NamespaceError(f"ip refuses one of {'; '.join(lines)}: {done.stderr.strip()}")
    return done.stdout


def _become_router() -> None:
    for name, value in (
        ("ip_forward", "1"),
        ("conf/all/rp_filter", "0"),
        ("conf/default/rp_filter", "0"),
    ):
        with open(f"/proc/sys/net/ipv4/{name}", "w") as file:
            file.write(value)


def _made() -> int:
    libc = _libc()
    if libc.unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "no new network namespace")
    # Inherited by nobody: whoever is to run in it is taken there.
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _enter(file: int) -> None:
    if _libc().setns(file, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "the network namespace cannot be entered")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _in_thread(function: Callable[[], T]) -> T:
    """Its result: a thread's namespace is its own, and ends with it."""
    results: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(function())
        except Exception as error:  # noqa: BLE001  (raised again below, in the caller's thread)
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
