"""Calls: gRPC, both ways and with answers, and statements in databases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import grpc
import grpc.aio

from lockstep.connectors.grpc.events import event_bytes, read_event
from lockstep.embedded.server import HOST
from lockstep.siddhiql.catalogue import ExtensionKind
from tests.contract.connectors.grpc_peer import CONSUME, PROCESS
from tests.e2e.connectors_app import CALLED
from tests.e2e.connectors_counting import of_book, of_mariadb, of_postgres
from tests.e2e.connectors_sender import AGAIN, ANSWER_S, Sender, body
from tests.e2e.connectors_transport import (
    Around,
    Arrivals,
    Family,
    Reader,
    Transport,
    database_options,
    sink,
    source,
    unmapped,
)

SERVICE: Final = "org.wso2.grpc.EventService"
REFUSED: Final = grpc.StatusCode.INVALID_ARGUMENT
PATIENCE_S: Final = 30.0
"""Of who waits for the app."""
STATEMENT: Final = f"INSERT INTO {CALLED} VALUES (?, ?)"


def _sources(around: Around) -> Iterator[Transport]:
    door = f"receiver.url='grpc://{HOST}:{around.doors.grpc}/{SERVICE}"
    yield source("grpc", f", {door}/consume'")
    yield Transport(
        ExtensionKind.SOURCE, "grpc-service",
        f"@source(type='grpc-service', source.id='gask', {door}/process',"
        " service.timeout='30000',"
        " @map(type='json', @attributes(n='$.event.n', id='trp:message.id')))",
        "n long, id string",
    )  # fmt: skip
    yield source("grpc-call-response", ", sink.id='gcall'")
    for name in _databases(around):
        text = f"@source(type='rdbms-call-response', sink.id='{name}')"
        yield Transport(ExtensionKind.SOURCE, f"rdbms-call-response {name}", text)


def _sinks(around: Around) -> Iterator[Transport]:
    far = f"grpc://{HOST}:{around.places.port('grpc')}/{SERVICE}"
    yield sink("grpc", f", publisher.url='{far}/consume'")
    yield sink("grpc-call", f", publisher.url='{far}/process', sink.id='gcall'")
    for name, where in _databases(around).items():
        said = f", sink.id='{name}', statement='{STATEMENT}', parameters='n, name', jdbc.{where}"
        yield unmapped(f"rdbms-call {name}", said)
    yield Transport(
        ExtensionKind.SINK, "grpc-service-response",
        "@sink(type='grpc-service-response', source.id='gask', message.id='{{id}}',"
        " @map(type='json')) define stream Reply_grpc (n long, id string);", refuses=False,
        asked="grpc-service",
        filled="from In_grpc_service select n, id insert into Reply_grpc;",
    )  # fmt: skip


def _databases(around: Around) -> Mapping[str, str]:
    """Options by name."""
    places = around.places
    found = {"PostgreSQL": database_options(around.database, places.port("postgres"))}
    if places.mariadb is not None:
        found["MariaDB"] = database_options(places.mariadb.url, places.port("mariadb"))
    return found


class Calling(Sender):
    """Calls of the default service, under a key; what is not answered is called again."""

    again = (*AGAIN, grpc.aio.AioRpcError)
    is_told = True

    def __init__(self, port: int, path: str) -> None:
        super().__init__()
        self._channel = grpc.aio.insecure_channel(
            f"{HOST}:{port}",
            options=(("grpc.max_reconnect_backoff_ms", 1_000), ("grpc.enable_retries", 0)),
        )
        asks = path == PROCESS
        self._call: Any = (self._channel.unary_unary if asks else self._channel.stream_unary)(path)
        self._asks = asks
        self._patience_s = PATIENCE_S if asks else ANSWER_S
        self.answers: list[int] = []

    async def send(self, number: int) -> None:
        message = event_bytes(body(number).decode(), {})
        key = (("idempotency-key", f"given-{number}"),)
        try:
            request = message if self._asks else iter((message,))
            answered = await self._call(request, timeout=self._patience_s, metadata=key)
        except grpc.aio.AioRpcError as error:
            if number < 0 and error.code() is REFUSED:
                self.refused += 1
                return
            raise
        if self._asks:
            self.answers.append(json.loads(read_event(answered)[0])["event"]["n"])

    async def close(self) -> None:
        await self._channel.close()


def _senders(around: Around) -> Mapping[str, Sender]:
    port = around.doors.grpc
    return {"grpc": Calling(port, CONSUME), "grpc-service": Calling(port, PROCESS)}


def _readers(around: Around) -> Mapping[str, Reader]:
    book, mariadb = around.places.far.book, around.places.mariadb

    async def of_the_other() -> Arrivals:
        assert mariadb is not None
        return await of_mariadb(mariadb.url, CALLED)

    return {
        "grpc": partial(of_book, book / "grpc"),
        "grpc-call": partial(of_book, book / "grpc-call"),
        "rdbms-call PostgreSQL": lambda: of_postgres(around.database, CALLED),
        "rdbms-call MariaDB": of_the_other,
    }


CALLS: Final = Family(_sources, _sinks, _senders, _readers)
