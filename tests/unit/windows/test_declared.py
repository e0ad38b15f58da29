"""What windows declare is so, of each example that they give."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from lockstep.execute.columnar import lowering_of
from lockstep.operators.contract import CURRENT, EXPIRED, RESET
from lockstep.siddhiql.catalogue import WindowExtension
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.catalogue.windows import Leaves, Timers
from lockstep.testing import VirtualApp
from lockstep.windows.shown import ShownWindow
from tests.unit.windows.played import Played, S, row

EXAMPLES = [(each, example) for each in default_catalogue().windows() for example in each.examples]
COLUMNS = ("sliding window", "tumbling window")
HOSTED = "window of the reference, the rest in columns"

every_example = pytest.mark.parametrize(
    ("declared", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES]
)


def play(example: str) -> Played:
    """Fifty chunks of up to three events, then silence."""
    played = Played(example)
    for n in range(50):
        now = 1 + 7 * n
        played.at(now, *(row(3 * n + more, now) for more in range(n % 4)))
    played.at(10_000)
    return played


@every_example
def test_how_events_leave(declared: WindowExtension, example: str) -> None:
    """In order, one by one without a RESET, or with a RESET behind all that leave."""
    chunks = play(example).chunks
    kinds = [[event.kind for event in chunk] for chunk in chunks]
    assert any(CURRENT in chunk for chunk in kinds)
    if declared.leaves is Leaves.TOGETHER:
        behind = [
            next((kind for kind in chunk[at:] if kind != EXPIRED), None)
            for chunk in kinds
            for at, left in enumerate(chunk)
            if left == EXPIRED
        ]
        assert set(behind) == {RESET}
        return
    assert not any(RESET in chunk for chunk in kinds)
    if declared.leaves is Leaves.IN_ORDER:
        left = [e.data[2] for chunk in chunks for e in chunk if e.kind == EXPIRED]
        assert left == sorted(left)
        assert left


def shown(declared: WindowExtension, name: str) -> bool:
    """What `output snapshot` is told of it."""
    return isinstance(declared, ShownWindow) and bool(getattr(declared, name))


@every_example
def test_who_says_so_is_shown_otherwise(declared: WindowExtension, example: str) -> None:
    """Alone may bring what leaves in front of itself, or that never leaves and is not inside."""
    played = Played(example)
    inside: set[int] = set()
    for n in range(54):
        now = 1 + 7 * n if n < 50 else 5000 * n
        for chunk in played.at(now, *(row(3 * n + more, now) for more in range(n % 4))):
            for event in chunk:
                if event.kind == CURRENT:
                    inside.add(event.data[2])
                elif event.kind == EXPIRED and event.data[2] not in inside:
                    assert shown(declared, "leaves_early") or shown(declared, "latest_of_key")
    left = [e for chunk in played.chunks for e in chunk if e.kind == EXPIRED]
    held = {event.data[2] for event in played.window.content()}
    assert shown(declared, "passes_on") is (not left and not held & inside)
    if shown(declared, "latest_of_key"):
        assert inside - held - {event.data[2] for event in left}


@every_example
def test_who_says_so_asks_for_no_timers(declared: WindowExtension, example: str) -> None:
    """And what a join finds changes only with what is emitted, where that is declared."""
    played = Played(example)
    for n in range(50):
        before = list(played.window.content())
        brought = played.at(1 + 7 * n, row(n, 1 + 7 * n))
        if declared.emits_changes and not brought:
            assert list(played.window.content()) == before
        assert not (declared.timers is Timers.NONE and played.context.timers)


@every_example
def test_columns_bring_what_is_meant(declared: WindowExtension, example: str) -> None:
    """Chunk by chunk, whole, and cut in the middle."""
    text = (
        f"{S} @info(name='a') from S#window.{example} select k, l insert all events into A;"
        f"@info(name='b') from S#window.{example} select k, sum(l) as s group by k insert into B;"
    )
    meant = outputs(text, "reference", cut=None)
    assert meant["a"]
    assert outputs(text, "columnar", cut=None) == meant
    assert outputs(text, "columnar", cut=12) == meant
    with VirtualApp(text) as app:
        rules = {choice.rule for choice in lowering_of(app.plan).choices}
    assert rules <= {*COLUMNS, HOSTED}
    if example == declared.examples[0]:
        assert (HOSTED in rules) is not bool(declared.columns)


def outputs(text: str, executor: str, *, cut: int | None) -> dict[str, list[Any]]:
    """What each query brought, with the times; `cut`: restored in front of that chunk."""
    app = VirtualApp(text, executor=executor)
    found: dict[str, list[Any]] = {"a": [], "b": []}

    def note() -> None:
        for name, chunks in found.items():
            chunks += app.query(name).chunks

    for n in range(24):
        if n == cut:
            note()
            clock_ms, snapshot = app.clock_ms, app.snapshot()
            app.close()
            app = VirtualApp.restore(text, snapshot, executor=executor, start_ms=clock_ms)
        app.advance(7)
        app.send_many("S", [row(2 * n + more, app.clock_ms) for more in range(n % 3)])
    app.advance(1500)
    note()
    app.close()
    return found


@pytest.mark.processes
def test_declarations_load_no_arrays() -> None:
    """Every command imports all of them."""
    script = (
        "import sys\n"
        "from lockstep.siddhiql.catalogue.core import default_catalogue\n"
        "default_catalogue()\n"
        "print(*sorted({'numpy', 'numba', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == []
