"""`unitconversion:` (extensions 17)."""

from __future__ import annotations

import pytest

from lockstep.functions.unitconversion import EXTENSIONS
from lockstep.operators.errors import EventError
from tests.unit.functions.calling import call


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("cmToft", 100, 100 / 30.48),
        ("cmTom", 100, 1.0),
        ("cmTonm", 1, 10_000_000.0),
        ("kmToin", 1, 1_000 / 0.0254),
        ("kmTomi", 1, 1 / 1.609344),
        ("miTokm", 1, 1.609344),
        ("mToyd", 1, 1 / 0.9144),
        ("MmTokm", 2, 2_000.0),
        ("kgTolb", 0.45359237, 1.0),
        ("kgTooz", 1, 35.27396194958041),
        ("kgTost", 6.35029318, 1.0),
        ("kgToLT", 1_016.0469088, 1.0),
        ("kgToST", 907.18474, 1.0),
        ("tTog", 0.5, 500_000.0),
        ("hTom", 1.5, 90.0),
        ("mTos", 2, 120.0),
        ("sTons", 3, 3e9),
        ("yTod", 1, 365.2525),
        ("m3Tol", 2, 2_000.0),
        ("lTom3", 1_000, 1.0),
        ("mlTol", 1, 0.001),
    ],
)
def test_values(name: str, value: float, expected: float) -> None:
    """Also where a letter means two units: an hour has minutes, a metre has yards."""
    assert call(f"unitconversion:{name}", value) == pytest.approx(expected, rel=1e-15)


def test_there_and_back_again_is_the_same() -> None:
    """For all units that can be converted both ways."""
    names = {extension.name for extension in EXTENSIONS}
    both = [name.split("To") for name in names if "To".join(reversed(name.split("To"))) in names]
    assert len(both) >= 8
    for one, other in both:
        there = call(f"unitconversion:{one}To{other}", 7)
        assert call(f"unitconversion:{other}To{one}", there) == pytest.approx(7, rel=1e-15)


def test_null_is_refused() -> None:
    """As the older product does."""
    with pytest.raises(EventError, match="no null"):
        call("unitconversion:cmToft", None)
