"""`within`: exactly the limit matches, expiry re-arms a chain, long waiting lists shrink."""

from __future__ import annotations

import pytest

from tests.unit.patterns.drive import (
    Driver,
    absent,
    checked,
    count,
    every,
    on,
)
from tests.unit.side_by_side import played

V28 = "A 1000 1; B 3000 10; A 4000 2; B 6001 11; A 7000 3; A 8500 4; B 9500 12"
TABLE = {
    "every first": ((every(on("A")), on("B")), V28, [(3000, 1, 10), (9500, 4, 12)]),
    "every chain restarts at expiry": ((every(on("A"), on("B")),), V28, [(3000, 1, 10)]),
    "once is dead after expiry": ((on("A"), on("B")), "A 1 1; A 3000 2; B 3001 3", []),
    "count at the end": (
        (every(count(on("A"), 3, 3)),),
        "A 1000 1; A 2000 2; A 3000 3; A 4000 4; A 7000 5; A 7500 6; A 8000 7",
        [(3000, [1, 2, 3]), (8000, [5, 6, 7])],
    ),
    "expired count in a chain restarts once": (
        (every(count(on("A"), 1, None), on("B")),),
        "A 0 1; A 100 2; B 2500 3; A 2600 4; B 2700 5; B 2800 6",
        [(2700, [4], 5)],
    ),
    "late event far before the first": (
        (every(on("A")), on("B")),
        "A 9000 1; B 1000 2; B 9500 3; A 9600 4; B 9700 5",
        [(9700, 4, 5)],
    ),
    "repeating absence ends with the limit": (
        (on("A"), every(absent("B", 900))),
        "A 0 1; T 5000",
        [(900, 1, None), (1800, 1, None)],
    ),
    "absence longer than the limit": ((every(on("A")), absent("B", 2500)), "A 0 1; T 9000", []),
}


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
@pytest.mark.parametrize("name", TABLE)
def test_table(name: str, cut: bool) -> None:
    """Each table gives its rows under a limit of two seconds."""
    elements, script, rows = TABLE[name]
    assert Driver(checked(*elements, within_ms=2000), cut=cut).play(script) == rows


def test_waiting_lists_shrink() -> None:
    """Tokens that nobody ever asks for are dropped once they are too old."""
    driver = Driver(checked(every(on("A")), on("B"), within_ms=1000))
    for n in range(20_000):
        driver.send("A", (n, n))
    state = driver.machine.snapshot()
    assert len(state[0]) <= 1000 + 2
    assert sum(len(node.pending) + len(node.arriving) for node in driver.machine._nodes) < 3000


def test_sequence_limit() -> None:
    """In a sequence a token that is too old is gone, and the event may begin a match."""
    pattern = checked(every(count(on("A"), 1, None)), on("B"), within_ms=1000, is_sequence=True)
    assert Driver(pattern).play("A 0 1; A 1500 2; B 1600 3") == [(1600, [2], 3)]


@pytest.mark.parametrize("most", [1, 2, None])
@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
def test_an_empty_start_behind_one_that_is_too_old(most: int | None, cut: bool) -> None:
    """`every A?, B`: the A is too old, so the B alone is a match, whether the A was the last that
    could come or not."""
    pattern = checked(every(count(on("A"), 0, most)), on("B"), within_ms=300, is_sequence=True)
    script = "A 1000 1; B 1500 2; B 1600 3; A 1700 4; B 1800 5"
    rows = [(1500, None, 2), (1600, None, 3), (1800, [4], 5)]
    assert Driver(pattern, cut=cut).play(script) == rows


@pytest.mark.parametrize("most", ["?", "*", "<0:1>"])
def test_an_empty_start_in_columns(most: str) -> None:
    """The same."""
    text = (
        "@app:playback define stream A (v int); define stream B (v int);"
        f" from every e1=A{most}, e2=B within 300 milliseconds"
        " select e1[0].v as a, e2.v as b insert into O;"
    )
    steps = ((1000, "A", [[1]]), (1500, "B", [[2]]), (1600, "B", [[3]]))
    assert played(text, *steps, rule="sequence") == [[(None, 2)], [(None, 3)]]
