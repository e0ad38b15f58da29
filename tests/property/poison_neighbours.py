"""How long neighbours wait while other apps explode, on a real Spark: `make poison`.

Two slots; a neighbour in each folds an event every 50 ms, while drawn apps with poison in them are
folded one after another. Prints the neighbours' p50 and p99, what a worker took at most, and how
many of the apps did not bring what the reference brings. It fails if one did not, and if a bar for
the neighbours or for a worker's memory is missed.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from random import Random

from lockstep.embedded import prepare_spark_environment
from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.spark import SparkExecutor, SparkOptions
from lockstep.operators.limits import in_force
from lockstep.plan import plan_of
from tests.property.poison_model import LIMITS, START_MS, drawn

NEIGHBOUR = (
    "define stream S (k string, v int);"
    "from S#window.length(100) select k, sum(v) as s group by k insert into O;"
)
OPTIONS = SparkOptions(slots=2)
NEIGHBOUR_P99_BAR_MS = 1_000
WORKER_BAR_BYTES = 2_000_000_000


def main() -> int:
    """Runs it; 0 where all is well."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--apps", type=int, default=200)
    apps: int = arguments.parse_args().apps
    prepare_spark_environment()
    with in_force(LIMITS):
        neighbours = [Neighbour() for _ in range(2)]
        for each in neighbours:
            each.start()
        wrong, memory_bytes = 0, 0
        for seed in range(apps):
            wrong += not _agrees(seed)
            memory_bytes = max(memory_bytes, _largest_worker_bytes())
        took = sorted(ms for each in neighbours for ms in each.end())
    p99_ms = took[len(took) * 99 // 100]
    ok = not wrong and p99_ms <= NEIGHBOUR_P99_BAR_MS and memory_bytes <= WORKER_BAR_BYTES
    print(f"poison: {'ok' if ok else 'FAILED'} apps={apps} wrong={wrong}", end=" ")
    print(f"neighbour_events={len(took)} p50_ms={took[len(took) // 2]:.0f}", end=" ")
    print(f"p99_ms={p99_ms:.0f} max_ms={took[-1]:.0f} worker_bytes={memory_bytes}")
    return 0 if ok else 1


class Neighbour(threading.Thread):
    """An app beside the others."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._executor = SparkExecutor(plan_of(NEIGHBOUR), options=OPTIONS)
        self._done = threading.Event()
        self._took: list[float] = []

    def run(self) -> None:
        """An event every 50 ms."""
        position = 0
        while not self._done.wait(0.05):
            position += 1
            event = InputEvent(START_MS + position, ("a", position))
            entry = LogEntry(position, EventsRecord("S", START_MS + position, ((event,),)))
            began = time.perf_counter()
            self._executor.run_slice([entry])
            self._took.append((time.perf_counter() - began) * 1000)

    def end(self) -> list[float]:
        """What each event took, but for the first ones, which compile."""
        self._done.set()
        self.join()
        return self._took[20:]


def _agrees(seed: int) -> bool:
    app, draw = drawn(seed), Random(seed)
    wanted = list(ReferenceExecutor(plan_of(app.text), start_ms=START_MS).run_slice(app.clean).rows)
    executor = SparkExecutor(plan_of(app.text), start_ms=START_MS, options=OPTIONS)
    rows, bad, start = [], set(), 0
    try:
        while start < len(app.log):
            end = start + draw.randrange(1, 40)
            result = executor.run_slice(app.log[start:end])
            rows += list(result.rows)
            bad |= {fault.position for fault in result.faults}
            start = end
    finally:
        executor.close()
    return rows == wanted and bad == app.bad


def _largest_worker_bytes() -> int:
    found = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if b"pyspark" in (status.parent / "cmdline").read_bytes():
                lines = status.read_text().splitlines()
                resident = next((each for each in lines if each.startswith("VmHWM")), "VmHWM: 0 kB")
                found = max(found, int(resident.split()[1]) * 1024)
        except OSError:
            continue  # it has ended meanwhile
    return found


if __name__ == "__main__":
    sys.exit(main())
