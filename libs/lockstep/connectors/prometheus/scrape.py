"""@source(type='prometheus'): at most once; what a metric was between two scrapes nobody knows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from lockstep.connectors.tls import context_of
from lockstep.sinks import headers_of
from lockstep.sources import Place, Received, Source, Turns

INTERVAL_S: Final = 60
TIMEOUT_S: Final = 10
MAX_BYTES: Final = 16_777_216
"""Of the metric, in one scrape. A page may be of any size: all else of it is passed over."""
EXACT: Final = 2**53
"""Up to here a float holds every whole number."""


class PrometheusSource(Source):
    """A message is a JSON object of a sample: labels, `value`, `metric_name`, `metric_type`,
    `help`, `subtype`."""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._options = options
        interval_ms = int(options.get("scrape.interval", INTERVAL_S)) * 1000
        self._turns = Turns(place.clock, interval_ms)
        self._session: aiohttp.ClientSession | None = None
        self._left: list[Received] = []

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        if not self._left:
            if not await self._turns.is_due(wait_ms):
                return ()
            self._left = [Received(json.dumps(each).encode()) for each in await self._scrape()]
        found, self._left = self._left[:max_messages], self._left[max_messages:]
        return found

    async def _scrape(self) -> list[dict[str, object]]:
        options = self._options
        if self._session is None:
            user = options.get("username")
            headers = headers_of(options.get("headers", ""))
            if user is not None:
                password = options.get("password", "")
                headers["Authorization"] = aiohttp.encode_basic_auth(user, password)
            timeout = aiohttp.ClientTimeout(total=int(options.get("scrape.timeout", TIMEOUT_S)))
            connector = aiohttp.TCPConnector(ssl=context_of(options) or True)
            self._session = aiohttp.ClientSession(
                headers=headers, timeout=timeout, connector=connector
            )
        try:
            async with self._session.get(options["target.url"]) as response:
                response.raise_for_status()
                text = await self._own_lines(response.content)
            # Aside: reading takes a second for each megabyte or two.
            return await asyncio.to_thread(lambda: list(self._samples(text)))
        except (aiohttp.ClientError, ValueError) as error:
            raise OSError(f"{options['target.url']} gives no metrics: {error}") from error

    async def _own_lines(self, page: aiohttp.StreamReader) -> str:
        """Those that may be of the metric. ValueError where they are too many."""
        name = self._options["metric.name"].removesuffix("_total").encode()
        about = (f"# {word} {quote}".encode() for word in ("TYPE", "HELP") for quote in ("", '"'))
        begins = (name, b'{"' + name, *(words + name for words in about))
        kept: list[bytes] = []
        left = MAX_BYTES
        async for line in page:
            said = line.lstrip(b" \t")
            # Between the words of a comment there may be any blanks.
            if said.startswith(b"#"):
                said = b" ".join(said.split(None, 3))
            if said.startswith(begins):
                kept.append(line)
                left -= len(line)
                if left < 0:
                    raise ValueError(f"more than {MAX_BYTES} bytes of {name.decode()!r}")
        return b"".join(kept).decode()

    def _samples(self, text: str) -> Iterator[dict[str, object]]:
        name, kind = self._options["metric.name"], self._options.get("metric.type")
        for family in text_string_to_metric_families(text):
            if name not in (family.name, f"{family.name}_total"):
                continue
            if kind is not None and family.type != kind.lower():
                continue
            for sample in family.samples:
                if sample.name.endswith("_created"):
                    continue
                labels = dict(sample.labels)
                wanted = (("job", "metric.job"), ("instance", "metric.instance"))
                if any(
                    option in self._options and labels.get(label) != self._options[option]
                    for label, option in wanted
                ):
                    continue
                yield {
                    **labels,
                    "metric_name": sample.name,
                    "metric_type": family.type,
                    "help": family.documentation,
                    "subtype": sample.name.removeprefix(family.name).lstrip("_"),
                    "value": _number(float(sample.value)),
                }

    async def close(self) -> Sequence[Received]:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        return ()


def _number(value: float) -> float | int:
    """Prometheus writes every value as a float. A whole one is written as such, so that attributes
    of whole numbers take it, too."""
    return int(value) if value.is_integer() and abs(value) <= EXACT else value
