"""What the tests on random apps share."""

from __future__ import annotations

import pytest

from lockstep.execute.columnar.precompile import precompile


@pytest.fixture(scope="session")
def compiled() -> None:
    """Every kernel is compiled before anything is tried: under Hypothesis' tracing, which sees each
    line of the compiler, that would take minutes."""
    precompile()
