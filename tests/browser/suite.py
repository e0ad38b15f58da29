"""A suite of processes of its own, and a page of a real Chromium beside it."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite, running_processes
from tests.browser.chromium import Page, open_page

_FIRST: Final = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


@dataclass(frozen=True, slots=True)
class Browsed:
    """`folder` is gone with the suite."""

    folder: Path
    suite: ProcessSuite
    client: Client
    page: Page


@contextlib.asynccontextmanager
async def browsed(
    plan: Sequence[tuple[str, str]], overrides: Mapping[str, str] | None = None
) -> AsyncIterator[Browsed]:
    """Its processors fold without Spark: what is looked at is the console."""
    wanted = {"LOCKSTEP_PROCESSOR__EXECUTOR": "reference", **(overrides or {})}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        folder = Path(made)
        async with (
            running_processes(folder / "suite", plan=plan, overrides=wanted) as suite,
            Client(suite.addresses) as client,
            open_page(folder, width=1440, height=900) as page,
        ):
            yield Browsed(folder, suite, client, page)


async def opened(page: Page, url: str) -> tuple[float, float]:
    """Opens a page of the console; milliseconds to its first content, and until all is there."""
    await page.open(url)
    there = await page.until(
        f"location.origin === new URL({json.dumps(url)}).origin"
        " && document.body.classList.contains('there') && performance.now()"
    )
    return float(await page.until(_FIRST)), float(there)
