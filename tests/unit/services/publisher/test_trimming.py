"""How much of an output log is kept, and for whom."""

from __future__ import annotations

import pytest

from lockstep.bus import Held
from lockstep_services.publisher.trimming import trim_to


@pytest.mark.parametrize(
    ("held", "delivered", "expected"),
    [
        (Held(1_000, 10_000), [], 900),  # nobody publishes: pages alone
        (Held(1_000, 10_000), [950, 1_000], 900),
        (Held(1_000, 10_000), [40, 1_000], 40),  # a sink lags
        (Held(50, 500), [1_000], 900),
        (Held(1_000, 10_000_000), [], 995),  # records so large that five fill the share
        (Held(1_000, 10_000_000), [990], 990),
        (Held(1, 90_000), [], 1_000),  # one record over it: the log itself keeps its last
    ],
)
def test_trim_to(held: Held, delivered: list[int], expected: int) -> None:
    """The slowest sink, the number of records, the bytes: whoever wants the most kept and may."""
    assert trim_to(1_000, held, delivered, keep_records=100, keep_bytes=50_000) == expected
