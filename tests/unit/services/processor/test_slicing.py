"""Slices stay short, whatever an app's events cost."""

import pytest

from lockstep_services.processor.fold.slicing import SliceSize, gather_ms


def test_heavy_events_make_small_slices_and_light_ones_large_again() -> None:
    """From a cost of 100 ms an event to 0.01 ms, with a target of one second."""
    size = SliceSize(limit=1_000, target_ms=1_000)
    for _ in range(20):
        size.took(size.events * 100, size.events, has_more=True)
    assert 3 <= size.events <= 10
    for _ in range(20):
        size.took(size.events // 100, size.events, has_more=True)
    assert size.events == 1_000


def test_a_slice_that_the_log_could_not_fill_proves_nothing() -> None:
    """Few records and quick: the size stays."""
    size = SliceSize(limit=64, target_ms=100)
    size.took(500, 8, has_more=False)
    assert size.events == 4
    size.took(1, 3, has_more=False)
    assert size.events == 4


@pytest.mark.parametrize("fixed_ms", [900, 1_200, 3_000])
def test_slices_keep_up_where_each_costs_a_second_by_itself(fixed_ms: int) -> None:
    """Starved cores: a slice takes as long with one event as with a hundred. Ones of one event
    would fall behind for ever."""
    size = SliceSize(limit=100_000, target_ms=1_000)
    waiting, lags = 30, []
    for turn in range(60):
        taken = min(waiting, size.events)
        took_ms = fixed_ms + (turn * 37) % 200 + taken // 10
        size.took(took_ms, taken, has_more=taken < waiting)
        waiting += 50 * took_ms // 1_000 - taken
        lags.append(waiting)
    assert max(lags[20:]) < 4 * 50 * fixed_ms // 1_000


def test_slices_are_what_they_were_once_the_cores_are_free_again() -> None:
    """Half a minute of starvation, then the same events cost next to nothing."""
    size = SliceSize(limit=100_000, target_ms=1_000)
    for turn in range(30):
        taken = min(40, size.events)
        size.took(1_500 + 300 * (turn % 3), taken, has_more=taken == size.events)
    for _ in range(20):
        size.took(20 + size.events // 1_000, size.events, has_more=True)
    assert size.events == 100_000


@pytest.mark.parametrize(
    ("events_of", "taken"),
    [
        ([], 0),
        ([40, 40, 40], 2),
        ([40, 60, 1], 2),
        ([500, 1], 1),
        ([1, 500], 1),
        ([0] * 150, 100),
    ],
)
def test_whole_records_up_to_so_many_events(events_of: list[int], taken: int) -> None:
    """At least one, however large it is; ticks are not free."""
    assert SliceSize(limit=100, target_ms=1).fit(events_of) == taken


def test_only_a_standby_that_keeps_up_takes_its_time() -> None:
    """A leader never waits, nor does anybody who is behind."""
    assert gather_ms(is_active=True, has_more=False, standby_gather_ms=7) == 0
    assert gather_ms(is_active=False, has_more=True, standby_gather_ms=7) == 0
    assert gather_ms(is_active=False, has_more=False, standby_gather_ms=7) == 7


def test_a_slice_that_got_small_grows_again_as_long_as_there_is_more() -> None:
    """Also from one event, which a process that stood still in the middle of a tick comes down to:
    records of one event each, of which as many are read as are asked for."""
    size = SliceSize(limit=1_000, target_ms=100)
    size.took(3_700, 2, has_more=False)
    assert size.events == 1
    sizes = []
    for _ in range(12):
        read = [1] * size.records_to_read
        taken = size.fit(read)
        size.took(1, taken, has_more=taken < len(read))
        sizes.append(taken)
    assert sizes[:4] == [1, 2, 4, 8]
    assert sizes[-1] == 1_000
