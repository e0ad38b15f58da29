"""A browser with one tab for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.browser.chromium import Page, open_page


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Page]:
    """A fresh browser with one tab."""
    async with open_page(tmp_path) as opened:
        yield opened
