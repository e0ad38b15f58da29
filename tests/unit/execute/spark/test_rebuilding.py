"""What the driver keeps to rebuild a state from."""

from __future__ import annotations

from lockstep.execute.encoding import EncodedRecord
from lockstep.execute.spark.rebuilding import Base


def entries(first: int, count: int, size: int = 10) -> list[EncodedRecord]:
    """Entries of so many bytes."""
    return [EncodedRecord(position, bytes(size)) for position in range(first, first + count)]


def test_a_fresh_app_is_rebuilt_from_its_entries() -> None:
    """There is no snapshot yet."""
    base = Base(1000)
    base.add(entries(1, 3))
    message, parts = base.message(0)
    assert (message.has_snapshot, message.positions) == (False, [1, 2, 3])
    assert [len(part) for part in parts] == [10, 10, 10]


def test_every_shard_gets_its_own_snapshot() -> None:
    """Or the whole app's, from which it takes its keys."""
    base = Base(1000)
    base.begin([b"whole"])
    assert [base.message(shard)[1] for shard in (0, 1)] == [[b"whole"], [b"whole"]]
    base.begin([b"first", b"second"])
    base.add(entries(7, 1, 1))
    assert [base.message(shard)[1] for shard in (0, 1)] == [
        [b"first", b"\0"],
        [b"second", b"\0"],
    ]


def is_long(base: Base) -> bool:
    """Asked anew each time."""
    return base.is_long


def test_a_long_replay_is_cut_in_proportion_to_the_state() -> None:
    """By the limit for a small state, by twice the snapshot for a large one."""
    base = Base(100)
    base.add(entries(1, 10))
    assert not is_long(base)
    base.add(entries(11, 1))
    assert is_long(base)
    base.begin([bytes(200), bytes(100)])
    base.add(entries(12, 60))
    assert not is_long(base)
    base.add(entries(72, 1))
    assert is_long(base)


def test_a_copy_is_not_touched_by_what_follows() -> None:
    """It is what a failed restore goes back to."""
    base = Base(100)
    base.begin([b"old"])
    base.add(entries(1, 2))
    kept = base.copy()
    base.begin([b"new"])
    assert kept.snapshots == [b"old"]
    assert kept.entries == 2
