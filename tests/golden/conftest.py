"""The switch that rewrites expectations."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """--rewrite is known where the goldens are asked for by their folder."""
    parser.addoption("--rewrite", action="store_true", help="accept what the goldens bring")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether expectations are rewritten."""
    return bool(request.config.getoption("--rewrite", default=False))
