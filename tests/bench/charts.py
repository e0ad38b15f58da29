"""Live charts in a real browser. Run by `python -m tests.bench.run --part charts --rate 10000
--seconds 3600`.

A dashboard of six widgets over a stream to which rows come at a set rate. Looked at: the memory of
the page and of the console, the page's elements, and how long the page did not draw.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite
from tests.bench.memory import family
from tests.browser.chromium import Page
from tests.browser.suite import browsed

PLAN: Final = tuple(
    (name, name)
    for name in ("coordinator", "processor", "publisher", "presenter", "receiver", "console")
)
APP: Final = """@app:name('Rooms')
define stream Reading (room string, celsius double, number long);
from Reading select room, celsius, number insert into Rows;
"""
ROOMS: Final = ("attic", "hall", "cellar", "kitchen")
BATCHES_A_SECOND: Final = 10
LOOK_EVERY_S: Final = 5.0
MINUTE_S: Final = 60.0
LOOKS_A_TELLING: Final = 60
WIDGETS: Final = (
    ("line", "celsius", "room", 8),
    ("gauge", "celsius", "", 4),
    ("bar", "celsius", "room", 6),
    ("pie", "celsius", "room", 6),
    ("number", "number", "", 4),
    ("table", "", "", 8),
)
_GAPS: Final = """(() => {
  let last = performance.now(); window.benchGap = 0;
  const drawn = (now) => {
    window.benchGap = Math.max(window.benchGap, now - last); last = now;
    requestAnimationFrame(drawn);
  };
  requestAnimationFrame(drawn);
})()"""


@dataclass(frozen=True, slots=True)
class Look:
    """At one moment. `gap_ms`: the longest time without a picture since the look before; None: the
    page was loaded anew meanwhile, as it is when its console was out of reach."""

    heap_mib: float
    elements: int
    gap_ms: float | None
    console_mib: float


def _resident_mib(pid: int) -> float:
    total = 0
    for one in family(pid):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{one}/status").read_text().splitlines()
            total += next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)
    return total / 1024


async def _look(page: Page, console: int, *, collects: bool) -> Look:
    if collects:  # else what is counted is also what nobody has collected yet
        await page.call("HeapProfiler.collectGarbage")
    metrics = (await page.call("Performance.getMetrics"))["metrics"]
    found = {one["name"]: one["value"] for one in metrics}
    taken = "(() => { const gap = window.benchGap; window.benchGap = 0; return gap; })()"
    gap = await page.evaluate(taken)
    if gap is None:
        await page.evaluate(_GAPS)
    return Look(found["JSHeapUsedSize"] / 2**20, int(found["Nodes"]), gap, _resident_mib(console))


class _Feed:
    """Sends at a rate; `sent` counts what is durable."""

    def __init__(self, client: Client, rate: int) -> None:
        self._client, self._rate = client, rate
        self.sent = 0

    async def run(self) -> None:
        """Until cancelled."""
        begun, count = time.monotonic(), max(1, self._rate // BATCHES_A_SECOND)
        while True:
            events = [
                {"room": ROOMS[n % 4], "celsius": 20 + n % 97 / 10, "number": n}
                for n in range(self.sent, self.sent + count)
            ]
            await self._client.send("Rooms", "Reading", json.dumps(events).encode())
            self.sent += count
            await asyncio.sleep(max(0.0, begun + self.sent / self._rate - time.monotonic()))


async def _watched(rate: int, seconds: float) -> tuple[list[Look], float]:
    """What was seen, and how many rows a second were sent."""
    async with browsed(PLAN) as there:
        suite, client, page = there.suite, there.client, there.page
        await client.deploy(APP)
        await _board(client, suite)
        feed = _Feed(client, rate)
        feeding = asyncio.create_task(feed.run())
        console = suite.of("console")[0]
        assert console.pid is not None
        await page.open(f"{console.url}/watch/Bench")
        await page.until("document.querySelectorAll('.widget canvas').length >= 4")
        await page.call("Performance.enable")
        await page.evaluate(_GAPS)
        looks: list[Look] = []
        sent, begun = feed.sent, time.monotonic()
        ends = begun + seconds
        while time.monotonic() < ends:
            await asyncio.sleep(LOOK_EVERY_S)
            told = time.monotonic() - begun
            at_an_end = told < MINUTE_S or told > seconds - MINUTE_S
            looks.append(await _look(page, console.pid, collects=at_an_end))
            if len(looks) % LOOKS_A_TELLING == 0:
                print(looks[-1], flush=True)
            if feeding.done():
                await feeding  # its error
        found = (feed.sent - sent) / (time.monotonic() - begun)
        feeding.cancel()
        assert not page.troubles, page.troubles
        return looks, found


async def _board(client: Client, suite: ProcessSuite) -> None:
    widgets = [
        {"kind": kind, "app": "Rooms", "source": "Rows", "title": kind, "value": value, "by": by,
         "width": width}
        for kind, value, by, width in WIDGETS
    ]  # fmt: skip
    url = f"{suite.addresses.coordinator}/v1/dashboards/Bench"
    await client.request("PUT", url, json_body={"title": "Bench", "widgets": widgets})


def _median(looks: Sequence[Look], what: str) -> float:
    return float(statistics.median(getattr(one, what) for one in looks))


def charts_figures(rate: int, seconds: float) -> dict[str, Any]:
    """Of the first and of the last minute, in which what nobody uses any more is collected before
    each look."""
    looks, sent = asyncio.run(_watched(rate, seconds))
    minute = round(MINUTE_S / LOOK_EVERY_S)
    first, last = looks[:minute], looks[-minute:]
    gaps = sorted(one.gap_ms for one in looks[1:] if one.gap_ms is not None)
    row = {
        "name": f"{len(WIDGETS)} widgets, {rate:,} rows/s, {seconds:.0f} s",
        "sent_per_s": round(sent),
        **{
            f"{what}_{when}": round(_median(part, what), 1)
            for what in ("heap_mib", "elements", "console_mib")
            for when, part in (("first_minute", first), ("last_minute", last))
        },
        "gap_ms_p50": round(gaps[len(gaps) // 2]),
        "gap_ms_max": round(gaps[-1]),
        "loaded_anew": sum(one.gap_ms is None for one in looks),
    }
    print(row)
    return row
