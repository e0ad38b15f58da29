"""The fits behind `#timeseries:` (extensions 22)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lockstep.siddhiql import SiddhiQLError, check
from lockstep.stream_functions.timeseries.fitting import Fit, Points, incomplete_beta


def fitted(rows: Sequence[tuple[float, ...]], confidence: float = 0.0) -> Fit:
    """The fit of points."""
    points = Points(len(rows[0]))
    for row in rows:
        points.change(row, 1)
    return points.fit(confidence)


def test_a_plane() -> None:
    """y = 1 + 2 u - 3 v, exactly."""
    rows = [(1.0 + 2 * u - 3 * v, float(u), float(v)) for u in range(3) for v in range(3)]
    assert fitted(rows, 1.0) == Fit(0.0, (1.0, 2.0, -3.0))


def test_what_is_not_determined() -> None:
    """Too few points, one x for all, and an x that follows from another."""
    nothing = Fit(0.0, (0.0, 0.0))
    assert fitted([(1.0, 0.0), (2.0, 1.0)]) == nothing
    assert fitted([(float(y), 7.0) for y in range(5)]) == nothing
    rows = [(float(x * x), float(x), 2.0 * x) for x in range(5)]
    assert fitted(rows) == Fit(0.0, (0.0, 0.0, 0.0))


def test_points_leave_without_a_trace() -> None:
    """Also one that is larger by 20 powers of ten."""
    rows = [(0.1, 0.2), (0.7, 0.3), (0.4, 0.9), (0.2, 0.5)]
    points = Points(2)
    for row in [*rows, (1e20, 1e20)]:
        points.change(row, 1)
    points.change((1e20, 1e20), -1)
    assert points.fit(0.0) == fitted(rows)


@pytest.mark.parametrize(
    ("freedom", "t", "chance"),
    [(1, 1.0, 0.5), (1, 12.7062047362, 0.05), (10, 2.228138852, 0.05), (48, 2.682204027, 0.01)],
)
def test_student(freedom: int, t: float, chance: float) -> None:
    """Of published tables, for both sides."""
    found = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))
    assert found == pytest.approx(chance, rel=1e-8)


def test_only_what_is_significant_is_told() -> None:
    """The constant of these points is 0.25 with an error of 1.12, the slope 1.05 with 0.18."""
    rows = [(1.0, 1.0), (3.0, 2.0), (2.0, 3.0), (5.0, 4.0), (5.0, 5.0), (6.0, 6.0)]
    some, sure = fitted(rows), fitted(rows, 0.95)
    assert some.betas[0] > 0
    assert sure == Fit(some.error, (0.0, some.betas[1]))
    assert fitted(rows, 0.9999).betas == (0.0, 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("regress(0, 50, 0.95, y, x)", "calculation.interval"),
        ("regress(1, 100001, 0.95, y, x)", "batch.size is 100001"),
        ("outlier(1, 50, 1.5, 2, y, x)", "confidence.interval is 1.5"),
        ("forecast(1, 50, 1, 7, y, x)", "timeseries:forecast"),
    ],
)
def test_refused(call: str, message: str) -> None:
    """When the app is checked."""
    with pytest.raises(SiddhiQLError) as refused:
        check(f"define stream S (y int, x int); from S#timeseries:{call} select y insert into O;")
    assert message in f"{refused.value} {refused.value.hint}"
