"""cron('expression') windows."""

from __future__ import annotations

import pytest

from lockstep.testing import VirtualApp


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize("expression", ["0 0 0 30 2 ?", "0 0 0 1 1 ? 2020"])
def test_what_no_tick_will_ever_show_is_not_kept(executor: str, expression: str) -> None:
    """A window whose last tick is over, or that never has one, does not grow."""
    text = f"define stream S (i int); from S#window.cron('{expression}') select i insert into O;"
    app = VirtualApp(text, executor=executor, start_ms=1_700_000_000_000)
    sizes = []
    for _ in range(3):
        app.send_many("S", [[number] for number in range(1_000)])
        app.advance(86_400_000)
        sizes.append(len(app.snapshot()))
    assert sizes[2] - sizes[0] < 100
