"""The ports at which gRPC clients find the sources of the deployed apps.

Several receivers of one machine share a port: the system gives each connection to one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from lockstep.connectors.grpc import DOORS, METHODS, SOURCE
from lockstep.connectors.grpc.urls import MethodUrl, method_url, simple_name
from lockstep.control import Catalogue
from lockstep.telemetry import Logger
from lockstep.tls import TlsFiles
from lockstep_services.receiver.carried import SourceSetupError, carrier_of
from lockstep_services.receiver.grpc_calls import CallTaker, Route
from lockstep_services.receiver.sources import SourceBook

PLAIN: Final = (
    "the source has enable.ssl='true', and this receiver's ports speak plainly: see the setting"
    " receiver.sources_tls"
)


class Port(Protocol):
    """What listens; see `lockstep.connectors.grpc.serving`."""

    async def start(self) -> None: ...

    async def stop(self, grace_ms: int = 0) -> None: ...


@dataclass(frozen=True, slots=True)
class Listening:
    """How ports are opened. `tls`: what they speak, if not plainly."""

    host: str
    tls: TlsFiles | None
    max_message_bytes: int
    max_calls: int


class GrpcPorts:
    """Opens and closes ports as the catalogue changes."""

    def __init__(
        self,
        catalogue: Catalogue,
        book: SourceBook,
        taker: CallTaker,
        listening: Listening,
        log: Logger,
    ) -> None:
        self._catalogue = catalogue
        self._book = book
        self._taker = taker
        self._listening = listening
        self._log = log
        self._routes: dict[int, Sequence[Route]] = {}
        self._ports: dict[int, Port] = {}
        self._troubles: dict[tuple[str, str], str] = {}
        self._port_troubles: dict[int, str] = {}
        self._is_ending = False

    async def run(self) -> None:
        """Until cancelled; then all that is still under way is cut off."""
        try:
            await self._catalogue.follow(self.follow_catalogue)
        finally:
            await self.stop()

    async def follow_catalogue(self) -> None:
        """Brings the ports in line with what is deployed now; what cannot be opened is tried
        again."""
        self._routes = self._found()
        for number in [each for each in self._ports if each not in self._routes]:
            await self._ports.pop(number).stop()
        self._port_troubles = {}
        for number in self._routes:
            if number not in self._ports and not self._is_ending:
                await self._open(number)

    def troubles(self, app: str) -> Mapping[str, str]:
        """Why streams of an app get nothing by a gRPC source now, by stream."""
        found = {stream: why for (each, stream), why in self._troubles.items() if each == app}
        for number, why in self._port_troubles.items():
            for route in self._routes[number]:
                if route.source.app == app:
                    found[route.source.stream] = why
        return found

    async def stop(self, grace_ms: int = 0) -> None:
        """Takes no more calls; those that are there end in time or are cut off. Idempotent."""
        ports = dict(self._ports)
        self._ports.clear()
        for port in ports.values():
            await port.stop(grace_ms)

    def end(self) -> None:
        """Opens no more ports, and sends new calls away."""
        self._is_ending = True
        self._taker.end()

    def _found(self) -> dict[int, Sequence[Route]]:
        """By port, without the sources that cannot be served; these are in trouble."""
        self._troubles = {}
        found: dict[int, list[Route]] = {}
        for source in self._book.all():
            if source.kind not in DOORS:
                continue
            place = (source.app, source.stream)
            url = method_url(source.annotation.get("receiver.url") or "", METHODS[source.kind])
            if self._listening.tls is None and _is_true(source.annotation.get("enable.ssl")):
                self._troubles[place] = PLAIN
                continue
            routes = found.setdefault(url.port, [])
            route = Route(source, url)
            other = next((each for each in routes if _is_same(each, route)), None)
            if other is not None:
                taken = f"{other.source.app}/{other.source.stream}"
                self._troubles[place] = f"{url.path()} at port {url.port} belongs to {taken}"
                continue
            routes.append(route)
        return {number: routes for number, routes in found.items() if routes}

    async def _open(self, number: int) -> None:
        listening = self._listening

        async def serve(call: Any) -> Any:
            message, metadata = await self._taker.take(
                self._at(number, call.path), call.metadata, call.messages
            )
            return message, tuple(metadata.items())

        def knows(path: str) -> bool:
            return bool(self._at(number, path))

        try:
            made: Any = carrier_of(SOURCE)
            port: Port = made(
                (listening.host, number), serve, knows, tls=listening.tls,
                max_message_bytes=listening.max_message_bytes, max_calls=listening.max_calls,
            )  # fmt: skip
            await port.start()
        except (OSError, SourceSetupError) as error:
            self._port_troubles[number] = str(error)
            self._log.warning("a port for gRPC cannot be opened", port=number, why=str(error))
        else:
            self._ports[number] = port

    def _at(self, number: int, path: str) -> Sequence[Route]:
        """Those of a method: under the whole name of its service, else under that without its
        package, as clients are made of a .proto and urls have the package of Java."""
        service, _, method = path.removeprefix("/").rpartition("/")
        routes = [each for each in self._routes.get(number, ()) if each.url.method == method]
        exact = [each for each in routes if each.url.service == service]
        return exact or [each for each in routes if _names(each.url, service)]


def _names(url: MethodUrl, service: str) -> bool:
    return simple_name(url.service) == simple_name(service)


def _is_same(one: Route, other: Route) -> bool:
    """Nothing that a client sends tells the two apart."""
    by_stream = one.url.is_event_service and one.source.stream != other.source.stream
    return one.url.path() == other.url.path() and not by_stream


def _is_true(text: str | None) -> bool:
    return (text or "").strip().lower() == "true"
