"""Small appends to one table of the archive, as an app brings them all day: processor time of each
with the look whether it stands. Upkeep comes between them."""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any, Final

import pyarrow as pa

from lockstep.archive.naming import DAY
from lockstep.archive.place import Place
from lockstep.archive.tables import Table

APPENDS: Final = 300
ROWS: Final = 1_000
UPKEEP_EVERY: Final = 60
"""As many as come in ten minutes at `archive.interval_ms`."""
FILE_BYTES: Final = 134_217_728


def archive_appends_figures(runs: int) -> list[dict[str, Any]]:
    """A row for each run: milliseconds of processor time for an append."""
    return [_run(number) for number in range(1, runs + 1)]


def _run(number: int) -> dict[str, Any]:
    rows = pa.table(
        {
            DAY: pa.array(["2026-01-01"] * ROWS),
            "n": pa.array(range(ROWS), pa.int64()),
            "word": pa.array(["word"] * ROWS),
        }
    )
    with tempfile.TemporaryDirectory(prefix="lockstep-appends-") as folder:
        table = Table(Place(folder), "one")
        began_s = time.process_time()
        for last in range(1, APPENDS + 1):
            table.append(rows, "bench", last)
            table.confirm("bench", last)
            if last % UPKEEP_EVERY == 0:
                table.expire("2020-01-01")
                table.compact(FILE_BYTES)
                table.sweep(0)
        cpu_ms = 1_000 * (time.process_time() - began_s) / APPENDS
    row = {"name": f"append of {ROWS:,} rows, run {number}", "cpu_ms": round(cpu_ms, 1)}
    load = round(os.getloadavg()[0], 1)
    print(f"{row['name']:44} {cpu_ms:>7.1f} ms of processor time  load {load}", flush=True)
    return row | {"load": load}
