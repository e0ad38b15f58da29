"""`kf:kalmanFilter` (extensions 19)."""

from __future__ import annotations

import pytest

from lockstep.functions.kalman.meaning import Moving, Resting
from lockstep.operators.errors import EventError

AT = 1_445_234_861


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        ((), [-74.178444, -74.1770735006853, -74.1773396670348]),
        ((0.003,), [-74.178444, -74.17707350205573, -74.177339667771]),
    ],
)
def test_what_rests(noise: tuple[float, ...], expected: list[float]) -> None:
    """The figures that the older product publishes."""
    model = Resting()
    measured = (-74.178444, -74.175703, -74.177872)
    found = [model.estimate(value, *noise) for value in measured]
    assert found == pytest.approx(expected, rel=1e-14)


def test_what_moves() -> None:
    """The same, with three milliseconds between two measurements, over a restart each."""
    measured = (-74.178444, -74.177872, -74.175703)
    found: list[float] = []
    model = Moving()
    for number, value in enumerate(measured):
        found.append(model.estimate(value, 0.003, 0.01, AT + 3 * number))
        state, model = model.snapshot(), Moving()
        model.restore(state)
    expected = [-74.1784439700006, -74.17657538193608, -74.17487924016262]
    assert found == pytest.approx(expected, rel=1e-12)


def test_without_noise() -> None:
    """What rests is what was measured first; what moves is not determined any more."""
    resting = Resting()
    assert [resting.estimate(value, 0.0) for value in (3.0, 5.0)] == [3.0, 3.0]
    moving = Moving()
    assert moving.estimate(3.0, 1.0, 0.0, AT) == 3.0
    with pytest.raises(EventError, match="not determined"):
        moving.estimate(3.0, 1.0, 0.0, AT)
