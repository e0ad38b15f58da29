"""The other sides that are asked, or set, in the far process: agents of SNMP, and metrics.

What is asked for gives the next number each time, and writes down which in FOLDER/<name>-asked. It
gives one that cannot be read when it is told so, and none any more once it is frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families
from pysnmp.proto.api import v2c
from pysnmp.smi.error import GenError, WrongValueError
from pysnmp.smi.instrum import AbstractMibInstrumController

from tests.contract.connectors.snmp_peer import open_agent

BASE: Final = (1, 3, 6, 1, 4, 1, 99999)
COMMUNITY: Final = "area51"
ASKED, SET, NAMED = 1, 2, 3
"""Variables below the base."""
GOOD: Final = "ok"
METRIC: Final = "given"
UNREADABLE: Final = "nothing"
HALF: Final = "0.5"
"""A value that is no whole number."""

Write = Callable[[str, str, int], None]


def oid(number: int) -> str:
    """Of a variable."""
    return ".".join(map(str, (*BASE, number, 0)))


def book_of(name: str) -> str:
    """Where it stands which numbers were given."""
    return f"{name}-asked"


class Asked:
    """Numbers 0, 1, 2, …, over this process's death; the poison is -1, -2, …"""

    def __init__(self, folder: Path, name: str, write: Write) -> None:
        path = folder / book_of(name)
        lines = path.read_text().split() if path.exists() else []
        self._poisoned = sum(line.startswith("-") for line in lines)
        self._next = len(lines) - self._poisoned
        self._name = book_of(name)
        self._write = write
        self._poison = 0
        self.is_frozen = False

    def poison(self) -> None:
        """The next one cannot be read."""
        self._poison += 1

    def give(self) -> int | None:
        """The next one; a negative one is to be made unreadable. None: nothing more."""
        if self.is_frozen:
            return None
        if self._poison:
            self._poison -= 1
            self._poisoned += 1
            number = -self._poisoned
        else:
            number = self._next
            self._next += 1
        self._write(self._name, "", number)
        return number


class Metrics:
    """What is scraped, and a gateway that metrics are pushed to."""

    def __init__(self, folder: Path, write: Write) -> None:
        self._asked = Asked(folder, "prometheus", write)
        self._write = write
        path = folder / "prometheus"
        lines = path.read_text().split() if path.exists() else ["-1"]
        self._last = int(lines[-1])
        self.asked: Mapping[str, Asked] = {"prometheus": self._asked}

    def routes(self, door: web.Application) -> None:
        """Adds them."""
        door.router.add_get("/metrics", self._scraped)
        door.router.add_post("/metrics/job/{job}", self._pushed)

    async def _scraped(self, _request: web.Request) -> web.Response:
        number = self._asked.give()
        value = HALF if number is not None and number < 0 else str(number)
        text = "" if number is None else f"# TYPE {METRIC} gauge\n{METRIC} {value}\n"
        return web.Response(text=text)

    async def _pushed(self, request: web.Request) -> web.Response:
        """A gauge says what it is now: pushed again unchanged, beside another one, it is nothing
        new."""
        for family in text_string_to_metric_families(await request.text()):
            for sample in family.samples:
                number = int(sample.value)
                if sample.labels.get("name") == GOOD and number != self._last:
                    self._write("prometheus", "", number)
                    self._last = number
        return web.Response()


class Agents:
    """One whose variable is asked for, and one whose variables are set, each at a port."""

    def __init__(self, folder: Path, write: Write) -> None:
        asked = Asked(folder, "snmp", write)
        self._asked = _Counting(asked)
        self._set = _Written(write)
        self.asked: Mapping[str, Asked] = {"snmp": asked}

    def start(self, asked_port: int, set_port: int) -> None:
        """Both answer from now on."""
        for port, variables in ((asked_port, self._asked), (set_port, self._set)):
            open_agent(port, COMMUNITY, variables)


class _Counting(AbstractMibInstrumController):  # type: ignore[misc]
    """Of one variable, which is another number each time."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def read_variables(self, *pairs: Any, **_: Any) -> Any:
        """As texts."""
        ((name, _value),) = pairs
        number = self._asked.give()
        if number is None:
            raise GenError(name=name, idx=1)
        text = UNREADABLE if number < 0 else str(number)
        return [(name, v2c.OctetString(text.encode()))]


class _Written(AbstractMibInstrumController):  # type: ignore[misc]
    """Of two variables: a number, and a name that is always the same."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def read_variables(self, *pairs: Any, **_: Any) -> Any:
        """The last ones, of which only their types matter."""
        types = {oid(SET): v2c.Integer32(0), oid(NAMED): v2c.OctetString(GOOD.encode())}
        return [(name, types[str(name)]) for name, _value in pairs]

    def write_variables(self, *pairs: Any, **_: Any) -> Any:
        """All of them, or none."""
        values = {str(name): value for name, value in pairs}
        if bytes(values[oid(NAMED)]) != GOOD.encode():
            raise WrongValueError(name=pairs[0][0], idx=1)
        self._write("snmp", "", int(values[oid(SET)]))
        return pairs
