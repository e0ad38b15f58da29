"""Runs one of NEXMark's queries as a Bytewax dataflow, in Bytewax's own environment; no part of the
project is there. `python flows.py QUERY FOLDER LAST_MS FORM PROCESS PROCESSES ADDRESSES ROWS`.

FORM is `objects` (tuples made before the clock runs) or `csv` (lines split and read within the
time). Each process reads every stream's file of its own number. ROWS is a file for all rows, or `-`
to count them. Prints when the first batch was asked for, when all was done, and how many rows came.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final, TextIO

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import cluster_main, run_main

BATCH: Final = 1_000
BETWEEN: Final = "\x1f"
TEN_SECONDS: Final = timedelta(seconds=10)
LATENESS: Final = timedelta(seconds=4)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
WHOLE: Final = {
    "Person": (0, 6),
    "Auction": (0, 3, 4, 5, 6, 7, 8),
    "Bid": (0, 1, 2, 5),
}
"""Where whole numbers stand; all else is text."""
TIMES: Final = {"Person": 6, "Auction": 5, "Bid": 5}

Event = tuple[Any, ...]
begun: list[float] = []
counted = [0]


class Read(StatefulSourcePartition):  # type: ignore[misc]  # Bytewax is not there where types are checked
    """Batches of what was prepared; notes when the first was asked for."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items

    def next_batch(self) -> list[Any]:
        """The next ones, until there are none."""
        if not begun:
            begun.append(time.time())
        if not (batch := list(islice(self._items, BATCH))):
            raise StopIteration
        return batch

    def snapshot(self) -> None:
        """Nothing is recovered here."""


class Prepared(FixedPartitionedSource):  # type: ignore[misc]
    """The items of this process, as the partition of its number."""

    def __init__(self, number: str, items: Iterable[Any]) -> None:
        self._number = number
        self._items = items

    def list_parts(self) -> list[str]:
        """That one alone: the other processes have the others."""
        return [self._number]

    def build_part(self, step_id: str, for_part: str, resume_state: object) -> Read:
        """From the first item on."""
        del step_id, for_part, resume_state
        return Read(iter(self._items))


class Taking(StatelessSinkPartition):  # type: ignore[misc]
    """Counts rows, and writes them where that is asked."""

    def __init__(self, file: TextIO | None) -> None:
        self._file = file

    def write_batch(self, items: list[Event]) -> None:
        """All of them."""
        counted[0] += len(items)
        if self._file is not None:
            self._file.writelines(BETWEEN.join(map(str, item)) + "\n" for item in items)


class Taker(DynamicSink):  # type: ignore[misc]
    """Of rows."""

    def __init__(self, file: TextIO | None) -> None:
        self._file = file

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Taking:
        """The one of this process."""
        del step_id, worker_index, worker_count
        return Taking(self._file)


def reader_of(stream: str) -> Callable[[str], Event]:
    """Makes an event of a line: its values, and its time as `datetime` behind them."""
    whole, at = WHOLE[stream], TIMES[stream]

    def read(line: str) -> Event:
        values: list[Any] = line.rstrip("\n").split(",")
        for number in whole:
            values[number] = int(values[number])
        values.append(EPOCH + timedelta(milliseconds=values[at]))
        return tuple(values)

    return read


class Input:
    """The streams of a process as steps of a flow."""

    def __init__(self, flow: Dataflow, folder: Path, number: str, form: str) -> None:
        self._flow = flow
        self._folder = folder
        self._number = number
        self._form = form

    def stream(self, name: str) -> Any:
        """Its events as tuples."""
        read = reader_of(name)
        with (self._folder / name / f"{self._number}.csv").open(encoding="utf-8") as file:
            lines = list(file)
        if self._form == "objects":
            source = Prepared(self._number, [read(line) for line in lines])
            return op.input(name, self._flow, source)
        raw = op.input(name, self._flow, Prepared(self._number, lines))
        return op.map(f"read {name}", raw, read)


def clock() -> Any:
    """Event time, as far behind as the watermark of the published queries. Bytewax lets it go on
    with the clock of the machine, by which events of a log would be late: that clock stands."""
    return win.EventClock(lambda event: event[-1], LATENESS, now_getter=lambda: EPOCH)


def tumbling() -> Any:
    """Windows of ten seconds, from the beginning of time on, so that their numbers are slots."""
    return win.TumblingWindower(length=TEN_SECONDS, align_to=EPOCH)


def q00(given: Input, last: int) -> Any:
    """Pass through."""
    del last
    return op.map("pick", given.stream("Bid"), lambda b: (b[0], b[1], b[2], b[5], b[6]))


def q01(given: Input, last: int) -> Any:
    """Bids in euros."""
    del last
    return op.map("euros", given.stream("Bid"), lambda b: (b[0], b[1], 0.908 * b[2], b[5], b[6]))


def q02(given: Input, last: int) -> Any:
    """Bids on some auctions."""
    del last
    some = op.filter("some", given.stream("Bid"), lambda b: b[0] % 123 == 0)
    return op.map("pick", some, lambda b: (b[0], b[2]))


def q03(given: Input, last: int) -> Any:
    """Who sells in three states: a join that keeps both sides."""
    del last
    near = op.filter("near", given.stream("Person"), lambda p: p[5] in ("OR", "ID", "CA"))
    sold = op.filter("sold", given.stream("Auction"), lambda a: a[8] == 10)
    sides = op.merge(
        "sides",
        op.map("person", near, lambda p: (str(p[0]), (True, (p[1], p[4], p[5])))),
        op.map("auction", sold, lambda a: (str(a[7]), (False, a[0]))),
    )

    def joined(state: Any, side: tuple[bool, Any]) -> tuple[Any, list[Event]]:
        people, auctions = state or ([], [])
        is_person, value = side
        (people if is_person else auctions).append(value)
        if is_person:
            return (people, auctions), [(*value, auction) for auction in auctions]
        return (people, auctions), [(*person, value) for person in people]

    return op.map("row", op.stateful_flat_map("join", sides, joined), lambda found: found[1])


def q07(given: Input, last: int) -> Any:
    """The highest bid of every ten seconds, the first by auction, bidder and time of equal ones."""
    keyed = op.key_on("all", given.stream("Bid"), lambda _: "all")
    found = win.max_window("max", keyed, clock(), tumbling(), lambda b: (b[2], -b[0], -b[1], -b[5]))
    whole = op.filter("whole", found.down, lambda one: one[1][0] < last // 10_000)
    return op.map("row", whole, lambda one: tuple(one[1][1][n] for n in (0, 2, 1, 5)))


def q11(given: Input, last: int) -> Any:
    """Bids of each person in each session."""
    del last
    windower = win.SessionWindower(gap=TEN_SECONDS)
    found = win.count_window("count", given.stream("Bid"), clock(), windower, lambda b: str(b[1]))
    return op.map("row", found.down, lambda one: (one[0], one[1][1]))


def q12(given: Input, last: int) -> Any:
    """Bids of each person in every ten seconds."""
    found = win.count_window("count", given.stream("Bid"), clock(), tumbling(), lambda b: str(b[1]))
    whole = op.filter("whole", found.down, lambda one: one[1][0] < last // 10_000)
    return op.map("row", whole, lambda one: (one[0], one[1][1]))


def q17(given: Input, last: int) -> Any:
    """A running report for each auction and day."""
    del last
    keyed = op.key_on("auction", given.stream("Bid"), lambda b: f"{b[0]}/{b[5] // 86_400_000}")

    def reported(state: Any, bid: Event) -> tuple[Any, list[Event]]:
        count, low, middle, high, least, most, total = state or (0, 0, 0, 0, bid[2], bid[2], 0)
        price = bid[2]
        is_low, is_high = price < 10_000, price >= 1_000_000
        count, low, high = count + 1, low + is_low, high + is_high
        middle += not (is_low or is_high)
        least, most, total = min(least, price), max(most, price), total + price
        row = (bid[0], bid[5] // 86_400_000, count, low, middle, high, least, most)
        return (count, *row[3:], total), [(*row, total / count, total)]

    return op.map("row", op.stateful_flat_map("report", keyed, reported), lambda one: one[1])


FLOWS: Final[dict[str, Callable[[Input, int], Any]]] = {
    one.__name__: one for one in (q00, q01, q02, q03, q07, q11, q12, q17)
}


def main(arguments: list[str]) -> None:
    """Prints what the module says."""
    query, folder, last, form, process, processes, addresses, rows = arguments
    flow = Dataflow(query)
    file = None if rows == "-" else Path(rows).open("w", encoding="utf-8")  # noqa: SIM115
    found = FLOWS[query](Input(flow, Path(folder), process, form), int(last))
    op.output("out", found, Taker(file))
    if processes == "1":
        run_main(flow)
    else:
        cluster_main(flow, addresses.split(";"), int(process))
    ended = time.time()
    if file is not None:
        file.close()
    print(begun[0], ended, counted[0])


if __name__ == "__main__":
    main(sys.argv[1:])
