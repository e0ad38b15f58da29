"""Rows of sliding windows, chained by realm."""

from __future__ import annotations

from lockstep.windows.length.columns import LengthWindow
from tests.unit.columns.flows import chunks, keyed, longs, setup, shown, step


def test_realms_have_chains_of_their_own() -> None:
    """In order of arrival; a realm that nobody knows is empty."""
    window = LengthWindow(setup(keyed=True), 2)
    stream = keyed(chunks([1], [2], [3, 4], [5]), 1, 0, 1, 0)
    window.flow(step(stream))
    held = {realm: window.held.columns(window.keeps(realm))[0].to_pylist() for realm in (0, 1, 7)}
    assert held == {0: [2, 5], 1: [3, 4], 7: []}
    window.settle()
    assert len(window.held) == 4


def test_a_realm_is_stored_and_put_back_behind_what_is_there() -> None:
    """Stretch by stretch."""
    window = LengthWindow(setup(keyed=True), 3)
    window.flow(step(keyed(chunks([1], [2, 3]), 0, 1)))
    other = LengthWindow(setup(keyed=True), 3)
    for realm in (1, 1):
        other.load(realm, window.store(1), lambda columns, times, realm: longs(*[0] * len(times)))
    flow = other.flow(step(keyed(chunks([4], at=[300]), 1)))
    assert shown(flow) == [["X2@300", "C4@300"]]
