"""Which method of which service an address means: grpc://host:port/package.Service/method. Pure.

`grpc://host:port/<sequence>` means the default service, EventService: its method `process` answers
an event with an event, and `consume` takes events and answers none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from lockstep.siddhiql.catalogue import SignatureError

PROCESS: Final = "process"
CONSUME: Final = "consume"
EVENT_SERVICE: Final = "eventservice.EventService"
"""The name under which the older products' programs serve and call the default service."""
EVENT_SERVICES: Final = frozenset(
    {
        EVENT_SERVICE,
        "EventService",
        "org.wso2.grpc.EventService",
        "org.wso2.grpc.eventservice.EventService",
    }
)
EXAMPLE: Final = "grpc://host:8888/org.wso2.grpc.EventService"
SHOWN_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class MethodUrl:
    """An address. `sequence`: what the other side does with events of the default service."""

    host: str
    port: int
    service: str
    method: str
    sequence: str = ""

    @property
    def is_event_service(self) -> bool:
        """The default service, whose messages are texts with headers."""
        return self.service in EVENT_SERVICES

    @property
    def target(self) -> str:
        """Host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def path(self, service: str = "") -> str:
        """On the wire; `service`: the name by its .proto, where that is another one."""
        known = EVENT_SERVICE if self.is_event_service else self.service
        return f"/{service or known}/{self.method}"


def method_url(text: str, default_method: str) -> MethodUrl:
    """What a url says; SignatureError where it is none. `default_method`: of the default service,
    where only a sequence is given."""
    shown, example = text[:SHOWN_CHARACTERS], f"{EXAMPLE}/{default_method}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise SignatureError(f"{shown!r} is no address: {error}", example) from error
    names = parts.path.removeprefix("/").split("/")
    if parts.scheme != "grpc" or not parts.hostname or not port or not all(names):
        raise SignatureError(f"{shown!r} is no grpc://host:port/service/method", example)
    if len(names) == 1:
        return MethodUrl(parts.hostname, port, EVENT_SERVICE, default_method, names[0])
    service, method, *sequence = names
    found = MethodUrl(parts.hostname, port, service, method, "/".join(sequence))
    if len(sequence) > (1 if found.is_event_service else 0):
        raise SignatureError(f"{shown!r} has more parts than service and method", example)
    return found


def simple_name(service: str) -> str:
    """Without its package."""
    return service.rpartition(".")[2]
