"""Goldens that are cut anywhere."""

from __future__ import annotations

from collections.abc import Iterator

from lockstep.testing.play import _Player
from lockstep.testing.scenario import Scenario
from lockstep.testing.virtual_app import VirtualApp


def cut_anywhere(scenario: Scenario) -> Iterator[list[list[str]]]:
    """What each call brings where the app is thrown away in front of a call and restored, for each
    call; first without that. What stands in front of a cut is played once for all of them."""
    player = _Player(scenario, "reference")
    before, lines = [], []
    for call in scenario.calls:
        before.append((player.app.snapshot(), player.app.clock_ms, player._kept))
        lines.append(player.call(call))
    player.app.close()
    yield lines
    for at, (snapshot, clock_ms, kept) in enumerate(before):
        if at == 0:
            continue  # nothing came yet
        player.app = VirtualApp.restore(scenario.app_text, snapshot, start_ms=clock_ms)
        player._kept = kept
        player._published = player._faults = 0
        yield [*lines[:at], *(player.call(call) for call in scenario.calls[at:])]
        player.app.close()
