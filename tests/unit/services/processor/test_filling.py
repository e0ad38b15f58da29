"""How full a log may be, as one replica can tell without asking."""

from __future__ import annotations

from lockstep_services.processor.replica.filling import MAX_SEEN, RECORD_BYTES, Filling

LIMIT, RECORD = 1_000_000, 100_000


def _read(filling: Filling, after: int, count: int, size_bytes: int) -> None:
    records = [(at, size_bytes) for at in range(after + 1, after + count + 1)]
    filling.read(after, records)


def test_what_was_read_is_counted_until_it_is_forgotten() -> None:
    """Nearly full is where little is left, or where one more record might be too much."""
    filling = Filling()
    filling.begins(1, 0)
    _read(filling, 0, 70, 10_000)
    assert not filling.may_be_nearly_full(LIMIT, RECORD)
    _read(filling, 70, 10, 10_000)
    assert filling.is_nearly_full(LIMIT, RECORD)
    assert filling.is_nearly_full(2 * LIMIT, 2 * LIMIT - 500_000)
    filling.forgot(79)
    assert not filling.may_be_nearly_full(LIMIT, RECORD)
    filling.forgot(80)
    assert not filling.may_be_nearly_full(LIMIT, LIMIT - RECORD_BYTES)


def test_where_a_revision_stands_a_record_is_counted_by_itself() -> None:
    """It stays when the others of its slice go."""
    filling = Filling()
    _read(filling, 0, 100, 10_000)
    filling.forgot(99)
    assert not filling.is_nearly_full(LIMIT, RECORD)
    assert filling.is_nearly_full(LIMIT, LIMIT - 10_000)


def test_what_was_there_before_may_be_as_large_as_it_can_be() -> None:
    """Also what a restored revision has passed over."""
    filling = Filling()
    filling.begins(5, 14)
    assert filling.may_be_nearly_full(LIMIT, RECORD)
    assert not filling.is_nearly_full(LIMIT, RECORD)
    filling.forgot(10)
    assert not filling.may_be_nearly_full(LIMIT, RECORD)
    _read(filling, 30, 1, 10)
    assert filling.may_be_nearly_full(LIMIT, RECORD)
    assert not filling.is_nearly_full(LIMIT, RECORD)


def test_many_slices_take_little_room() -> None:
    """What is counted together goes with the last of it."""
    filling = Filling()
    for at in range(3 * MAX_SEEN):
        _read(filling, at, 1, 10)
    assert len(filling._seen) <= MAX_SEEN
    each = 10 + RECORD_BYTES
    assert filling._seen_bytes == 3 * MAX_SEEN * each
    filling.forgot(3 * MAX_SEEN - 1)
    assert filling._seen_bytes == each
