"""What the driver keeps to rebuild a state from."""

from __future__ import annotations

from lockstep.events.codec import EncodedEntry
from lockstep.execute.spark.rebuilding import Base


def entries(first: int, count: int, size: int = 10) -> list[EncodedEntry]:
    """Entries of so many bytes."""
    return [EncodedEntry(position, bytes(size)) for position in range(first, first + count)]


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


def owned(limit_bytes: int = 100) -> Base:
    """Of an executor whose owner has snapshots and the log."""
    return Base(limit_bytes, has_owner=True)


def is_whole(base: Base) -> bool:
    """Asked anew each time."""
    return base.whole


def positions(base: Base) -> list[int]:
    """Of the entries that a rebuild folds."""
    return base.message(0)[0].positions


def test_with_an_owner_no_snapshot_is_due_and_no_more_is_kept_than_the_limit() -> None:
    """Beyond it the base is of no use: the owner begins again."""
    base = owned()
    base.add(entries(1, 10))
    assert is_whole(base)
    assert not is_long(base)
    base.add(entries(11, 1))
    assert not is_whole(base)
    assert not is_long(base)
    assert base.size_bytes == 0
    base.add(entries(12, 200))
    assert base.size_bytes <= 100


def test_an_owners_snapshot_makes_the_base_whole_again() -> None:
    """What was folded behind it is kept, what it holds is forgotten."""
    base = owned()
    base.add(entries(1, 11))
    base.add(entries(12, 5))
    base.rebase(b"at 13", 13)
    assert is_whole(base)
    assert base.message(0)[1] == [b"at 13", *[bytes(10)] * 3]
    assert positions(base) == [14, 15, 16]
    base.add(entries(17, 2))
    base.rebase(b"at 18", 18)
    assert positions(base) == []
    base.add(entries(19, 1))
    assert positions(base) == [19]


def test_a_snapshot_that_cannot_help_changes_nothing() -> None:
    """It is too large, of before what is there, or of what was not folded yet."""
    base = owned()
    base.add(entries(1, 11))
    base.add(entries(12, 5))
    for snapshot, position in ((bytes(101), 13), (b"early", 10), (b"late", 17)):
        base.rebase(snapshot, position)
        assert not is_whole(base)
    base.rebase(b"at 11", 11)
    assert positions(base) == [12, 13, 14, 15, 16]


def test_a_restored_state_is_built_once_even_if_it_is_too_large_to_be_kept() -> None:
    """`trim` follows when the workers have it."""
    base = owned()
    base.begin([bytes(1000)], 40)
    assert base.message(0)[1] == [bytes(1000)]
    base.trim()
    assert not is_whole(base)
    base.add(entries(41, 2))
    base.rebase(b"at 41", 41)
    assert positions(base) == [42]
    kept = base.copy()
    base.begin([b"other"], 7)
    assert positions(kept) == [42]
