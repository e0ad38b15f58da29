"""How soon a page of the console shows something. Run by `python -m tests.bench.run --part pages`.

In Chromium, over a suite that has one app and nothing to do: from asking for a page to its first
content, and to its being whole. The first round is a browser that has never been there.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from pathlib import Path
from typing import Any, Final

from lockstep.cli.client import Client
from lockstep.cli.processes import running_processes
from tests.bench.charts import APP, PLAN
from tests.browser.chromium import Page, open_page

PATHS: Final = (
    "/apps", "/apps/Rooms", "/apps/Rooms/flow", "/apps/Rooms/figures", "/apps/Rooms/tables",
    "/apps/Rooms/versions", "/apps/Rooms/simulate", "/write", "/try", "/watch", "/history",
    "/scripts", "/templates", "/errors", "/nodes",
)  # fmt: skip
ROUNDS: Final = 5
IDLE_S: Final = 8.0
"""Until what starts with a suite is done."""

BAR_MS: Final = 300
_FIRST: Final = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
_THERE: Final = "document.body.classList.contains('there') && performance.now()"


async def _opened(page: Page, url: str) -> tuple[float, float]:
    await page.open(url)
    there = await page.until(f"location.href === {url!r} && {_THERE}")
    return float(await page.until(_FIRST)), float(there)


async def _rounds() -> dict[str, list[tuple[float, float]]]:
    overrides = {"LOCKSTEP_PROCESSOR__EXECUTOR": "reference"}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        folder = Path(made)
        async with (
            running_processes(folder / "suite", plan=PLAN, overrides=overrides) as suite,
            Client(suite.addresses) as client,
            open_page(folder, width=1440, height=900) as page,
        ):
            await client.deploy(APP)
            base = suite.of("console")[0].url
            await asyncio.sleep(IDLE_S)
            found: dict[str, list[tuple[float, float]]] = {path: [] for path in PATHS}
            for _ in range(ROUNDS):
                for path in PATHS:
                    found[path].append(await _opened(page, base + path))
                    await asyncio.sleep(0.5)
            return found


def pages_figures() -> list[dict[str, Any]]:
    """Milliseconds for each page; `below` where half of the visits took longer than the bar."""
    rows = []
    for path, visits in asyncio.run(_rounds()).items():
        first = [one[0] for one in visits]
        median = round(statistics.median(first))
        row = {
            "name": path,
            "very_first_ms": round(first[0]),
            "first_ms": median,
            "worst_ms": round(max(first)),
            "whole_ms": round(statistics.median(one[1] for one in visits)),
            "below": median > BAR_MS,
        }
        rows.append(row)
        print(
            f"{path:24} first content {row['first_ms']:>4} ms (the first visit"
            f" {row['very_first_ms']}, the longest {row['worst_ms']}), whole {row['whole_ms']} ms"
            f"{'  below' if row['below'] else ''}"
        )
    return rows
