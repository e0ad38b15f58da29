"""Joins that look into windows of one event per key: by an index, with the rows of a scan."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from lockstep.joins.meaning import contents
from lockstep.operators.contract import StreamEvent
from lockstep.testing import VirtualApp
from lockstep.windows.unique.sliding import UniqueSliding

STREAMS = "define stream S (k string, g string, d double); define stream R (k string, i int); "
WINDOWS = ("ever(k)", "ever(k, d)", "first(k)", "length(k, 5)", "time(k, 300)", "ever(d)")
CONDITIONS = ("a.k == R.k", "a.g == R.k", "a.g == R.k and a.d > 1.0")


def played(text: str, seed: int) -> list[Any]:
    """What comes out, over restores; keys come again and again, some of them null or NaN."""
    random = Random(seed)
    app = VirtualApp(text)
    found: list[Any] = []
    keys = ("x", "y", "z", "w", None)
    for step in range(120):
        app.advance(random.choice((0, 40, 200)))
        if random.random() < 0.5:
            app.send_many("R", [[random.choice(keys), step]])
        else:
            doubles = (0.0, 1.5, 2.5, float("nan"), None)
            count = random.randint(1, 4)
            app.send_many(
                "S",
                [
                    [random.choice(keys), random.choice(keys), random.choice(doubles)]
                    for _ in range(count)
                ],
            )
        if random.random() < 0.1:
            found += app.stream("O")
            app = VirtualApp.restore(text, app.snapshot(), start_ms=app.clock_ms)
    return found + app.stream("O")


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_index_holds_what_a_scan_finds(
    window: str, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows in the same order, whatever the join and the window take for a key."""
    text = (
        f"{STREAMS}from S#window.unique:{window} as a join R on {condition} "
        "select a.k as k, a.g as g, a.d as d, R.i as i insert into O;"
    )
    indexed = [repr(played(text, seed)) for seed in range(3)]
    monkeypatch.setattr(contents, "Keyed", lambda content, match, _: scanned(content, match))
    assert [repr(played(text, seed)) for seed in range(3)] == indexed


def scanned(content: Any, match: Any) -> contents.Scanned:
    """All of it is looked at."""
    return contents.Scanned(content, match, [])


class Counted(list[StreamEvent]):
    """Counts the rows that are looked at."""

    looked_at = 0

    def __iter__(self) -> Iterator[StreamEvent]:
        for each in super().__iter__():
            Counted.looked_at += 1
            yield each


@pytest.mark.parametrize("on", ["a.k == R.k", "a.g == R.k"])
@pytest.mark.parametrize("held", [100, 1_000])
def test_an_event_looks_at_the_rows_of_its_key_alone(
    held: int, on: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many keys the window holds; they are all looked at once, when the index is made."""
    monkeypatch.setattr(UniqueSliding, "content", lambda self: Counted(self._held.values()))
    app = VirtualApp(
        f"{STREAMS}from S#window.unique:ever(k) as a join R on {on} select R.i as i insert into O;"
    )
    app.send_many("S", [[f"k{number}", "g", 1.0] for number in range(held)])
    app.send("R", ["k1", 0])
    monkeypatch.setattr(Counted, "looked_at", 0)
    for number in range(1, 20):
        app.send("S", [f"k{number}", "g", 2.0])
        app.send("R", [f"k{number}", number])
    assert len(app.stream("O")) == (20 if on == "a.k == R.k" else 0)
    assert Counted.looked_at == 0
