"""Slices stay short, whatever an app's events cost."""

from services.processor.slicing import SliceSize


def test_heavy_records_make_small_slices_and_light_ones_large_again() -> None:
    """From a cost of 100 ms a record to 0.01 ms, with a target of one second."""
    size = SliceSize(limit=1_000, target_ms=1_000)
    for _ in range(20):
        size.took(size.records * 100, size.records)
    assert 3 <= size.records <= 10
    for _ in range(20):
        size.took(size.records // 100, size.records)
    assert size.records == 1_000


def test_a_slice_that_the_log_could_not_fill_proves_nothing() -> None:
    """Few records and quick: the size stays; one record that is too slow stays one."""
    size = SliceSize(limit=64, target_ms=100)
    size.took(500, 8)
    assert size.records == 4
    size.took(1, 3)
    assert size.records == 4
    for _ in range(5):
        size.took(999, 1)
    assert size.records == 1
