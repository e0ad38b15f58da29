"""The machine by itself: the tables that need no filters of the language."""

from __future__ import annotations

import pytest

from tests.unit.patterns.drive import (
    Driver,
    absent,
    both,
    checked,
    count,
    either,
    every,
    on,
)

V25 = "A 1000 1; A 2000 2; B 3000 10; B 4000 11; A 5000 3; B 6000 12"
RUNS = "A 1000 1; A 2000 2; A 3000 3; A 4000 4; B 5000 10; A 6000 5; B 7000 11; A 8000 6; B 9000 12"
TABLE = {
    "once": ((on("A"), on("B")), V25, [(3000, 1, 10)]),
    "every first": (
        (every(on("A")), on("B")),
        V25,
        [(3000, 1, 10), (3000, 2, 10), (6000, 3, 12)],
    ),
    "every chain": ((every(on("A"), on("B")),), V25, [(3000, 1, 10), (6000, 3, 12)]),
    "every last": (
        (on("A"), every(on("B"))),
        V25,
        [(3000, 1, 10), (4000, 1, 11), (6000, 1, 12)],
    ),
    "range with every": (
        (every(count(on("A"), 2, 3)), on("B")),
        RUNS,
        [(5000, [1, 2, 3], 10), (5000, [3, 4], 10), (9000, [5, 6], 12)],
    ),
    "exactly two": (
        (every(count(on("A"), 2, 2)), on("B")),
        RUNS,
        [(5000, [1, 2], 10), (5000, [3, 4], 10), (9000, [5, 6], 12)],
    ),
    "minimum 0 repeats": (
        (every(count(on("A"), 0, 2)), on("B")),
        "B 1 9; A 2 1; B 3 8; A 4 2; A 5 3; A 6 4; B 7 10",
        [(1, None, 9), (3, [1], 8), (7, [2, 3], 10)],
    ),
    "two optional states": (
        (every(on("C")), count(on("A"), 0, None), count(on("D"), 0, 1), on("B")),
        "C 1 1; A 2 2; A 3 3; D 4 4; A 5 5; B 6 6; C 7 7; B 8 8",
        [(6, 1, [2, 3], [4], 6), (8, 7, None, None, 8)],
    ),
    "and, either order": (
        (every(both(on("A"), on("B"))),),
        "A 1 1; B 2 2; B 3 3; A 4 4",
        [(2, 1, 2), (4, 4, 3)],
    ),
    "or": ((every(either(on("A"), on("B"))),), "A 1 1; B 2 2", [(1, 1, None), (2, None, 2)]),
    "leading absence restarts": (
        (absent("A", 2000), on("B")),
        "A 1000 1; A 1500 2; B 3000 1; B 3500 2",
        [(3500, None, 2)],
    ),
    "every leading absence": (
        (every(absent("A", 2000)), on("B")),
        "B 1000 1; B 2000 2; B 7000 3; A 8000 1; B 9000 4; B 10500 5",
        [(2000, None, 2), (7000, None, 3), (7000, None, 3), (9000, None, 4), (10500, None, 5)],
    ),
    "absence in the middle": (
        (every(on("A")), absent("B", 1000), on("C")),
        "A 0 1; B 500 0; A 600 2; A 700 3; C 1650 4; C 1700 5",
        [(1650, 2, None, 4), (1700, 3, None, 5)],
    ),
    "counted state in front of an absence": (
        (count(on("A"), 2, 5), absent("B", 1000)),
        "A 0 1; A 100 2; A 200 3; T 1100; T 1199; T 1300",
        [(1200, [1, 2, 3], None)],
    ),
    "absence kills, every chain stays dead": (
        (every(on("A"), absent("B", 1000)),),
        "A 0 1; B 500 2; A 600 3; T 5000",
        [],
    ),
    "timed absence and presence": (
        (on("A"), both(absent("B", 2000), on("C"))),
        "A 1000 1; C 2000 20; C 3500 30",
        [(3000, 1, None, 20)],
    ),
    "timed absence or presence": (
        (every(on("A")), either(absent("B", 1000), on("C"))),
        "A 0 1; C 500 2; A 600 3; B 700 4; C 1800 5; A 2000 6; T 3000",
        [(500, 1, None, 2), (1800, 3, None, 5), (3000, 6, None, None)],
    ),
    "untimed absence": (
        (every(on("A")), both(absent("B"), on("C"))),
        "A 1 1; C 2 2; A 3 3; B 4 4; C 5 5; A 6 6; A 7 7; C 8 8",
        [(2, 1, None, 2), (8, 6, None, 8), (8, 7, None, 8)],
    ),
    "leading untimed absence spoils one attempt": (
        (every(both(absent("A"), on("B"))), on("C")),
        "A 1 1; B 2 2; C 3 3; B 4 4; C 5 5",
        [(5, None, 4, 5)],
    ),
}


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
@pytest.mark.parametrize("name", TABLE)
def test_table(name: str, cut: bool) -> None:
    """Each table gives its rows, whole and with a restore in front of every event."""
    elements, script, rows = TABLE[name]
    assert Driver(checked(*elements), cut=cut).play(script) == rows


SEQUENCES = {
    "once": ((on("A"), on("B")), "A 1 1; B 2 2; A 3 3; B 4 4", [(2, 1, 2)]),
    "once, missed": ((on("A"), on("B")), "A 1 1; A 2 2; B 3 3", []),
    "adjacent": (
        (every(on("A")), on("B")),
        "A 1 1; A 2 2; B 3 10; B 4 11; A 5 3; A 6 4; A 7 5; B 8 12",
        [(3, 2, 10), (8, 5, 12)],
    ),
    "star": (
        (every(count(on("A"), 0, None)), on("B")),
        "A 1 1; A 2 2; B 3 10; B 4 11; A 5 3; A 6 4; A 7 5; B 8 12",
        [(3, [1, 2], 10), (4, None, 11), (8, [3, 4, 5], 12)],
    ),
    "question mark": (
        (every(count(on("A"), 0, 1)), on("B")),
        "A 1 1; A 2 2; B 3 10; B 4 11; A 5 3; A 6 4; A 7 5; B 8 12",
        [(3, [2], 10), (4, None, 11), (8, [5], 12)],
    ),
    "exactly two, overlapping attempts": (
        (every(count(on("A"), 2, 2)), on("B")),
        "A 1 1; A 2 2; A 3 3; B 4 4; A 5 5; B 6 6; A 7 7; A 8 8; B 9 9",
        [(4, [2, 3], 4), (9, [7, 8], 9)],
    ),
    "two or three, the longest": (
        (every(count(on("A"), 2, 3)), on("B")),
        "A 1 1; A 2 2; A 3 3; A 4 4; B 5 5",
        [(5, [2, 3, 4], 5)],
    ),
    "two in the middle": (
        (every(on("A")), count(on("A"), 2, 2), on("B")),
        "A 1 1; A 2 2; A 3 3; A 4 4; B 5 5",
        [(5, 2, [3, 4], 5)],
    ),
    "two once": ((count(on("A"), 2, 2), on("B")), "A 1 1; A 2 2; B 3 3", [(3, [1, 2], 3)]),
    "plus at the end": (
        (every(on("A")), count(on("B"), 1, None)),
        "A 1 1; B 2 2; B 3 3; A 4 4; B 5 5",
        [(2, 1, [2]), (5, 4, [5])],
    ),
    "star at the end": (
        (every(on("A")), count(on("B"), 0, None)),
        "A 1 1; B 2 2; A 3 3",
        [(1, 1, None), (3, 3, None)],
    ),
    "and": (
        (every(both(on("A"), on("B"))), on("C")),
        "A 1 1; B 2 2; C 3 3; B 4 4; A 5 5; C 6 6; A 7 7; C 8 8; B 9 9; C 10 10",
        [(3, 1, 2, 3), (6, 5, 4, 6)],
    ),
    "absence": (
        (every(on("A")), absent("B", 1000), on("C")),
        "A 0 1; C 1100 2; A 1200 3; B 1300 4; C 2300 5; A 2400 6; A 2500 7; C 3500 8",
        [(1100, 1, None, 2), (3500, 7, None, 8)],
    ),
    "absence, disturbed": (
        (on("A"), absent("B", 1000), on("C")),
        "A 0 1; C 500 2; C 1500 3",
        [],
    ),
    "leading absence": (
        (every(absent("A", 1000)), on("B")),
        "B 2200 1; B 3300 2; A 3400 3; B 4100 4; B 4500 5",
        [(2200, None, 1), (3300, None, 2), (4500, None, 5)],
    ),
    "leading absence once": ((absent("A", 1000), on("B")), "A 100 1; B 1200 2", []),
}


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence_table(name: str, cut: bool) -> None:
    """Sequences: adjacency, repetition by plain meaning, one attempt without `every`."""
    elements, script, rows = SEQUENCES[name]
    assert Driver(checked(*elements, is_sequence=True), cut=cut).play(script) == rows
