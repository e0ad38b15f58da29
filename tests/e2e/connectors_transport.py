"""A transport of the scenario: one way of one type, and what its type promises."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lockstep.databases import datasource_of_url
from lockstep.siddhiql.catalogue import Delivery, ExtensionKind
from lockstep.siddhiql.checking.connectors import find_type
from tests.e2e.connectors_places import Places
from tests.e2e.connectors_sender import Sender

APP: Final = "Connectors"
POISON: Final = "a/*+"
"""A name that no destination takes which can refuse one."""


@dataclass(frozen=True, slots=True)
class Transport:
    """One way of one type. `name` among those of its way: type, and which of several."""

    kind: ExtensionKind
    name: str
    text: str
    """The annotation; of what is apart its definition, too."""
    attributes: str = "n long"
    refuses: bool = True
    """A sink whose other side can refuse a message, a source that can meet one it cannot read."""
    number: str = "n"
    """Of a source: what gives the number of an event."""
    wanted: str = ""
    """Of a source: which of its events have one, as a filter."""
    asked: str = ""
    """Of a sink of answers, on a stream of its own: the source whose senders hear them."""
    step: int = 0
    """Which of the promises of its type: that whose condition holds here, the strongest first."""
    filled: str = ""
    """Of what is apart: the query that fills it."""

    @property
    def type(self) -> str:
        return self.name.partition(" ")[0]

    @property
    def is_apart(self) -> bool:
        """`text` is all of it, and not an annotation of the one stream."""
        return self.kind is ExtensionKind.STORE or bool(self.asked)

    @property
    def delivery(self) -> Delivery:
        """What its type declares; of a store, what its page says (extensions 15)."""
        if self.kind is ExtensionKind.STORE:
            return Delivery.EXACTLY_ONCE
        declared = find_type(self.kind, self.type)
        assert declared is not None
        promise = declared.promise
        assert promise is not None, f"{self.type} declares no promise"
        return [promise.delivery, *(one for one, _ in promise.between)][self.step]

    @property
    def stream(self) -> str:
        """Of a source."""
        return "In_" + "".join(c if c.isalnum() else "_" for c in self.name)

    @property
    def query(self) -> str:
        """Of a source: its numbers, into the stream that is counted."""
        chosen = self.number if self.number == "n" else f"{self.number} as n"
        return f"from {self.stream}{self.wanted} select {chosen} insert into Got_{self.stream};"


@dataclass(frozen=True, slots=True)
class Doors:
    """Ports where receivers listen for sources that are servers."""

    tcp: int
    hl7: int
    grpc: int
    syslog: int


@dataclass(frozen=True, slots=True)
class Around:
    """What is there. `database`: the suite's own PostgreSQL; `bus`: its own NATS; `doors`: where
    receivers listen; `logs`: what the publishers write; `ending`: when all has been counted."""

    places: Places
    database: str
    bus: str
    doors: Doors
    logs: Sequence[Path]
    ending: AsyncExitStack


Arrivals = list[tuple[str, int]]
"""(identity, number) as often as it came."""

Reader = Callable[[], Arrivals | Awaitable[Arrivals]]
"""What a sink's other side has."""


async def _nothing(_around: Around) -> None:
    """It is all there."""


@dataclass(frozen=True, slots=True)
class Family:
    """Transports whose other sides are alike. `readers`: by the names of sinks; `prepare`: what has
    to be there before the app is."""

    sources: Callable[[Around], Iterator[Transport]]
    sinks: Callable[[Around], Iterator[Transport]]
    senders: Callable[[Around], Mapping[str, Sender]]
    readers: Callable[[Around], Mapping[str, Reader]]
    prepare: Callable[[Around], Awaitable[None]] = _nothing


def source(
    name: str, options: str = "", mapping: str = "type='json'", *, step: int = 0
) -> Transport:
    """One whose events are numbers alone."""
    text = f"@source(type='{name.partition(' ')[0]}'{options}, @map({mapping}))"
    return Transport(ExtensionKind.SOURCE, name, text, step=step)


def sink(
    name: str,
    options: str,
    mapping: str = "type='json'",
    *,
    refuses: bool = True,
    step: int = 0,
) -> Transport:
    """Of the one stream that all sinks have."""
    text = f"@sink(type='{name.partition(' ')[0]}'{options}, @map({mapping}))"
    return Transport(ExtensionKind.SINK, name, text, refuses=refuses, step=step)


def unmapped(name: str, options: str) -> Transport:
    """A sink of rows, not of messages."""
    return Transport(ExtensionKind.SINK, name, f"@sink(type='{name.partition(' ')[0]}'{options})")


def database_options(url: str, port: int) -> str:
    """Options that lead to a server through its proxy."""
    found = datasource_of_url("far", url)
    where = f"jdbc:{found.kind}://127.0.0.1:{port}/{found.database}"
    return f"url='{where}', username='{found.username}', password='{found.password}'"


def folder_of(places: Places, name: str) -> Path:
    """Of a file source or sink."""
    found = places.folder / "files" / name
    found.mkdir(parents=True, exist_ok=True)
    return found
