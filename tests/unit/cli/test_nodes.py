"""What `lockstep drain` and `lockstep rebalance` say."""

from __future__ import annotations

from typing import Any

from lockstep.cli.commands.nodes import is_over, no_room, progress, waits


def _drained(**changes: Any) -> dict[str, Any]:
    return {
        "node": "p1", "drained": True, "empty": False, "left": ["'A'", "'B'"], "leads": ["'A'"],
        "carried": 2, "no_room": [], **changes,
    }  # fmt: skip


def test_how_far_a_drain_is() -> None:
    """From what it carries to nothing."""
    assert progress(_drained()) == "p1 still carries 2 units and leads 1"
    stopping = _drained(left=[], leads=[], carried=1)
    assert progress(stopping) == "p1 still carries 1 unit and leads 0"
    empty = _drained(empty=True, left=[], leads=[], carried=0)
    assert progress(empty).startswith("p1 is empty, and takes nothing until")
    assert progress(_drained(drained=False)) == "p1 takes replicas"


def test_when_a_drain_has_come_to_its_end() -> None:
    """When nothing is left, or nothing of it can go."""
    assert not is_over(_drained())
    assert not is_over(_drained(no_room=["'A'"]))
    assert not is_over(_drained(left=[], leads=[], carried=1))
    assert is_over(_drained(no_room=["'A'", "'B'"]))
    assert is_over(_drained(empty=True, left=[], leads=[], carried=0))
    assert "no other processor can take 'A', 'B'. Start one" in no_room(
        _drained(no_room=["'A'", "'B'"])
    )


def test_what_a_rebalancing_waits_for() -> None:
    """It names the units."""
    assert waits(["'A' group g partition 1"]).endswith("ready: 'A' group g partition 1")
