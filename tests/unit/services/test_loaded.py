"""What a service loads to start: one that was killed has to be back soon."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

pytestmark = pytest.mark.processes

SERVICES: Final = ("receiver", "processor", "publisher", "presenter", "coordinator", "console")
HEAVY: Final = ("pyspark", "numba", "duckdb", "pandas", "lockstep.execute.columnar")
"""The processor's engine takes them when its first app comes. pyarrow.dataset brings pandas."""
TABLES: Final = ("deltalake", "pyarrow.dataset")
"""What reads the archive."""
ASK: Final = "import sys, lockstep_services.{}.__main__; print([m for m in {} if m in sys.modules])"


def loaded(service: str, names: tuple[str, ...]) -> str:
    """Which of these a service has to start, as a list."""
    command = [sys.executable, "-c", ASK.format(service, names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("service", SERVICES)
def test_no_service_loads_spark_or_kernels_to_start(service: str) -> None:
    """Runs of scripts, queries over the past and parsing have processes of their own. The presenter
    only starts those that read the archive."""
    assert loaded(service, HEAVY + (TABLES if service == "presenter" else ())) == "[]"
