"""The snapshot codec: values come back as they were, and nothing foreign is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.operators import state
from lockstep.operators.contract import EXPIRED, JoinedEvent, MatchedEvent, StreamEvent
from lockstep.operators.errors import SnapshotError

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
KEYS = SCALARS | st.tuples(SCALARS, SCALARS)
VALUES = st.recursive(
    SCALARS | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(KEYS, inner)
        | st.sets(SCALARS)
    ),
    max_leaves=20,
)


def shape(value: Any) -> Any:
    """The value with its types, so that 1, 1.0 and true differ."""
    if isinstance(value, (list, tuple)):
        return (type(value), [shape(item) for item in value])
    if isinstance(value, dict):
        return [(shape(key), shape(item)) for key, item in value.items()]
    return (type(value), value)


@given(VALUES)
def test_round_trip(value: Any) -> None:
    """Every plain value comes back with its types."""
    assert shape(value) == shape(state.decode(state.encode(value)))


def test_events_come_back() -> None:
    """Events of every shape."""
    event = StreamEvent(5, ("a", 1, (2, [3])), EXPIRED)
    joined = JoinedEvent(6, event, None, EXPIRED)
    matched = MatchedEvent(7, [event, [event, event], None])
    one, two, three = state.decode(state.encode([event, joined, matched]))
    assert (one.timestamp_ms, one.data, one.kind) == (5, ("a", 1, (2, [3])), EXPIRED)
    assert (two.timestamp_ms, two.right, two.kind) == (6, None, EXPIRED)
    assert two.left.data == ("a", 1, (2, [3]))
    assert len(three.slots[1]) == 2


def test_equal_sets_give_equal_bytes() -> None:
    """Snapshots of equal states are equal, whatever order a set has."""
    assert state.encode({"a", "b", "c"}) == state.encode({"c", "b", "a"})


def test_foreign_values_are_refused() -> None:
    """What cannot be restored elsewhere is no state."""
    with pytest.raises(SnapshotError, match="object"):
        state.encode([object()])


def test_sealed_snapshots_know_their_position() -> None:
    """Header and body."""
    sealed = state.seal(17, {"a": 1})
    assert state.position_of(sealed) == 17
    assert state.unseal(sealed) == (17, {"a": 1})


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:5],
        lambda data: b"x" + data[1:],
        lambda data: data[:8] + b"\x00\x63" + data[10:],
        lambda data: data[:-2],
        lambda data: data[:18] + b"\xc1",
    ],
)
def test_damaged_snapshots_are_refused(damage: Any) -> None:
    """Too short, another magic, another version, cut off, no MessagePack."""
    with pytest.raises(SnapshotError):
        state.unseal(damage(state.seal(1, {"a": [1, 2, 3]})))


def test_unknown_tags_are_refused() -> None:
    """A later release's values."""
    with pytest.raises(SnapshotError):
        state.decode(b"\xc7\x01\x63\x00")
