"""How soon a page of the console shows something. Run by `python -m tests.bench.run --part pages`.

In Chromium, over a suite that has one app and nothing to do: from asking for a page to its first
content, and to its being whole. The first round is a browser that has never been there.
"""

from __future__ import annotations

import asyncio
import statistics
from typing import Any, Final

from tests.bench.charts import APP, PLAN
from tests.browser.suite import browsed, opened

PATHS: Final = (
    "/apps", "/apps/Rooms", "/apps/Rooms/flow", "/apps/Rooms/figures", "/apps/Rooms/tables",
    "/apps/Rooms/versions", "/apps/Rooms/simulate", "/write", "/try", "/watch", "/history",
    "/scripts", "/templates", "/errors", "/nodes",
)  # fmt: skip
ROUNDS: Final = 5
IDLE_S: Final = 8.0
"""Until what starts with a suite is done."""

REST_S: Final = 0.5
BAR_MS: Final = 300


async def _rounds() -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {path: [] for path in PATHS}
    async with browsed(PLAN) as there:
        await there.client.deploy(APP)
        base = there.suite.of("console")[0].url
        await asyncio.sleep(IDLE_S)
        for _ in range(ROUNDS):
            for path in PATHS:
                found[path].append(await opened(there.page, base + path))
                await asyncio.sleep(REST_S)
    return found


def pages_figures() -> list[dict[str, Any]]:
    """Milliseconds for each page; `below` where one visit took longer than the bar."""
    rows = []
    for path, visits in asyncio.run(_rounds()).items():
        first = [one[0] for one in visits]
        row = {
            "name": path,
            "very_first_ms": round(first[0]),
            "first_ms": round(statistics.median(first)),
            "worst_ms": round(max(first)),
            "whole_ms": round(statistics.median(one[1] for one in visits)),
            "below": max(first) > BAR_MS,
        }
        rows.append(row)
        print(
            f"{path:24} first content {row['first_ms']:>4} ms (the first visit"
            f" {row['very_first_ms']}, the longest {row['worst_ms']}), whole {row['whole_ms']} ms"
            f"{'  below' if row['below'] else ''}"
        )
    return rows
