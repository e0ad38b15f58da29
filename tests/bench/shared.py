"""Tables and named windows in columns beside the reference, in one run.

    python -m tests.bench.shared [--events 200000] [--only TEXT]

Each app gets the same log on both executors: a few records to warm up, then so many events on
columns and a tenth of them on the reference. Printed are events per second and the ratio.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

from lockstep.events.codec import EncodedEntry
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import AppPlan, plan_of
from tests.bench.queries import QUOTES, TRADES
from tests.bench.workload import Log, slices_of

RECORD: Final = 2_000
SLICE_RECORDS: Final = 10
WARM_EVENTS: Final = 40_000
_TABLE: Final = "define table T (symbol string, price double, volume long);\n"
_KEYED: Final = f"@PrimaryKey('symbol') {_TABLE}"
_WRITE: Final = "from Trade select symbol, price, volume "
_UPSERT: Final = f"{_WRITE}update or insert into T on T.symbol == symbol;"
_READ: Final = " select Quote.symbol as symbol, T.price as price insert into Out;"
_WINDOW: Final = "define window W (symbol string, price double, volume long) "

APPS: Final = {
    "upsert by key, join by key": f"{_KEYED}{_UPSERT} from Quote join T"
    f" on T.symbol == Quote.symbol{_READ}",
    "upsert by key with a computed set": f"{_KEYED}{_WRITE}update or insert into T"
    " set T.volume = T.volume + volume on T.symbol == symbol; from Quote join T"
    f" on T.symbol == Quote.symbol{_READ}",
    "upsert without a key": f"{_TABLE}{_UPSERT} from Quote join T"
    f" on T.symbol == Quote.symbol{_READ}",
    "upsert by key, updates one by one": f"{_KEYED}{_UPSERT}"
    " from Quote select symbol, price, volume"
    " update T set T.price = price on T.symbol == symbol and T.volume < volume;"
    f" from Quote join T on T.symbol == Quote.symbol{_READ}",
    "join by a range": f"{_KEYED}{_UPSERT} from Quote[volume > 900L] join T"
    f" on T.price > Quote.price{_READ}",
    "join with aggregates": f"{_KEYED}{_UPSERT} from Quote join T on T.symbol == Quote.symbol"
    " select Quote.symbol as symbol, count() as n, sum(T.volume) as v group by Quote.symbol"
    " insert into Out;",
    "in": f"{_KEYED}{_UPSERT} from Quote[(T.symbol == Quote.symbol) in T]"
    " select symbol, price insert into Out;",
    "two writers, deletions": f"{_KEYED}{_UPSERT} from Quote[volume > 900L] select symbol"
    " delete T on T.symbol == symbol; from Quote[(T.symbol == Quote.symbol) in T]"
    " select symbol, price insert into Out;",
    "named window length(1000)": f"{_WINDOW}length(1000);\n{_WRITE}insert into W;"
    " from Quote select symbol, price, volume insert into W;"
    " from W select symbol, avg(price) as a, count() as n group by symbol insert into Out;",
    "named window time(1 sec)": f"{_WINDOW}time(1 sec);\n{_WRITE}insert into W;"
    " from W select symbol, avg(price) as a, count() as n group by symbol insert into Out;",
    "named window timeBatch(1 sec)": f"{_WINDOW}timeBatch(1 sec);\n{_WRITE}insert into W;"
    " from W select symbol, sum(volume) as v, count() as n group by symbol insert into Out;",
    "named window without a kernel": f"{_WINDOW}unique:length(symbol, 50);\n{_WRITE}insert into W;"
    " from W select symbol, avg(price) as a, count() as n group by symbol insert into Out;",
}


def rate(executor: Any, plan: AppPlan, events: int) -> float:
    """Events per second of the log's middle, after a warm-up."""
    log = Log([plan.checked.schemas[name] for name in ("Trade", "Quote")])
    for entries in _slices(log, WARM_EVENTS):
        executor.run_encoded(entries)
    slices = _slices(log, events)
    begun = time.perf_counter()
    for entries in slices:
        executor.run_encoded(entries)
    return events / (time.perf_counter() - begun)


def _slices(log: Log, events: int) -> list[Sequence[EncodedEntry]]:
    return slices_of(log.take(events, RECORD), SLICE_RECORDS)


def main(arguments: Sequence[str]) -> int:
    """Prints a line per app."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args(arguments)
    print(f"{'':40}{'columns':>12}{'reference':>12}{'ratio':>8}")
    for name, text in APPS.items():
        if chosen.only not in name:
            continue
        plan = plan_of(f"{TRADES}{QUOTES}{text}")
        columns = rate(ColumnarExecutor(plan, start_ms=0), plan, chosen.events)
        reference = rate(ReferenceExecutor(plan, start_ms=0), plan, chosen.events // 10)
        print(f"{name:40}{columns:12,.0f}{reference:12,.0f}{columns / reference:8.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
