"""What is asked now and then, and set: variables of SNMP, and metrics of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

import aiohttp

from lockstep.embedded.server import HOST
from tests.e2e.connectors_agents import ASKED, COMMUNITY, METRIC, NAMED, SET, book_of, oid
from tests.e2e.connectors_counting import of_book
from tests.e2e.connectors_places import Places
from tests.e2e.connectors_sender import AGAIN, ANSWER_S, CLOCK, PAUSE_MS, Sender
from tests.e2e.connectors_transport import Around, Family, Reader, Transport, sink, source

INTERVAL_MS: Final = 500


def _sources(around: Around) -> Iterator[Transport]:
    yield source(
        "snmp", f"{_agent(around, 'asked')}, oids='{oid(ASKED)}', request.interval='{INTERVAL_MS}'",
        f"type='keyvalue', @attributes(n='{oid(ASKED)}')",
    )  # fmt: skip
    yield source(
        "prometheus", f", target.url='http://{HOST}:{around.places.port('http')}/metrics',"
        f" metric.name='{METRIC}', scrape.interval='1'", "type='keyvalue', @attributes(n='value')",
    )  # fmt: skip


def _sinks(around: Around) -> Iterator[Transport]:
    yield sink(
        "snmp", _agent(around, "set"),
        f"type='keyvalue', @payload('{oid(SET)}'='n', '{oid(NAMED)}'='name')",
    )  # fmt: skip
    # A gateway takes any name.
    yield sink(
        "prometheus", ", publish.mode='pushgateway', metric.name='taken', metric.type='gauge',"
        f" push.url='http://{HOST}:{around.places.port('http')}', value.attribute='n'",
        refuses=False,
    )  # fmt: skip


def _agent(around: Around, name: str) -> str:
    port = around.places.port(name)
    return (
        f", host='{HOST}', agent.port='{port}', version='v2c', community='{COMMUNITY}',"
        " timeout='500', retries='1'"
    )


class Asking(Sender):
    """Not one that sends: the app asks. What was given stands in the far server's book."""

    def __init__(self, places: Places, name: str) -> None:
        super().__init__()
        self._url = f"{places.far.url}/asked/{name}"
        self._book = places.far.book / book_of(name)
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_S))

    async def run(self) -> None:
        while not self.done.is_set():
            self._look()
            if self._poison:
                self._poison -= 1
                await self._told("poison")
            await CLOCK.sleep_ms(PAUSE_MS)
        await self._told("freeze")
        self._look()
        await self._session.close()

    def _look(self) -> None:
        numbers = [number for _, number in of_book(self._book)]
        self.poisoned = sum(number < 0 for number in numbers)
        self.sent = len(numbers) - self.poisoned

    async def _told(self, what: str) -> None:
        while True:
            try:
                async with self._session.post(f"{self._url}/{what}") as response:
                    response.raise_for_status()
                    return
            except AGAIN:
                await CLOCK.sleep_ms(PAUSE_MS)


def _senders(around: Around) -> Mapping[str, Sender]:
    return {name: Asking(around.places, name) for name in ("snmp", "prometheus")}


def _readers(around: Around) -> Mapping[str, Reader]:
    book = around.places.far.book
    return {name: partial(of_book, book / name) for name in ("snmp", "prometheus")}


ASKING: Final = Family(_sources, _sinks, _senders, _readers)
