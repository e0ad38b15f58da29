"""The snapshot codec: values come back as they were, and nothing foreign is read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.operators import state
from lockstep.operators.contract import EXPIRED, JoinedEvent, MatchedEvent, StreamEvent
from lockstep.operators.errors import SnapshotError
from lockstep.operators.packed import LARGE_ROWS, SMALL_ROWS, PackedEvents, PackedPairs

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


def packed(count: int, label: str = "é") -> PackedEvents:
    """Events with a text, nulls and a number."""
    texts = [None if i % 5 == 0 else f"{label}{i % 7}" for i in range(count)]
    numbers = pa.array(range(count), pa.int64())
    return PackedEvents.of(numbers, [pa.array(texts, pa.string()), numbers])


def events(count: int) -> list[tuple[int, tuple[Any, ...]]]:
    """What `packed` holds."""
    return [
        (event.timestamp_ms, event.data)
        for event in PackedEvents(b"".join(packed(count).buffers())).events()
    ]


@pytest.mark.parametrize(
    "count", [0, 1, SMALL_ROWS, SMALL_ROWS + 1, LARGE_ROWS - 1, LARGE_ROWS, 2 * LARGE_ROWS + 5]
)
@pytest.mark.parametrize("position", [0, 17])
def test_packed_events_come_back_however_many(
    count: int, position: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few one by one, more in the body, large aside, in one batch or several; twice, too."""
    monkeypatch.setattr("lockstep.operators.packed.DRAWN_ROWS", LARGE_ROWS)
    body = {"windows": [("a", packed(count)), ("b", (packed(count), "x" * (position + 1)))]}
    sealed = state.seal(position, body)
    _, found = state.unseal(sealed)
    (_, first), (_, (second, text)) = found["windows"]
    assert text == "x" * (position + 1)
    for each in (first, second):
        assert [(event.timestamp_ms, event.data) for event in each] == events(count)
    _, kept = state.unseal(sealed, keep_packed=True)
    assert state.seal(position, kept) == state.seal(
        position, state.unseal(sealed, keep_packed=True)[1]
    )
    held = kept["windows"][0][1]
    assert isinstance(held, PackedEvents) is (count > SMALL_ROWS), "few stand one by one"
    assert len(held.events() if isinstance(held, PackedEvents) else held) == count


def test_a_large_snapshot_is_written_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """No piece is as large as the whole, and columns stand where Arrow likes them."""
    monkeypatch.setattr("lockstep.operators.packed.DRAWN_ROWS", LARGE_ROWS)
    pieces: list[bytes] = []

    class Sink:
        def write(self, data: Any) -> None:
            pieces.append(bytes(data))

    count = 3 * LARGE_ROWS
    state.seal_into(Sink(), 4, {"window": packed(count)})
    whole = b"".join(pieces)
    assert max(map(len, pieces)) < len(whole) / 2
    assert whole == state.seal(4, {"window": packed(count)})
    assert whole.index(next(iter(packed(count).buffers())).to_pybytes()) % state.ALIGNMENT == 0


def test_pairs_come_back() -> None:
    """Many enough to stand aside."""
    numbers = pa.array(range(LARGE_ROWS), pa.int64())
    sealed = state.seal(1, {"pairs": PackedPairs.of(numbers, numbers)})
    assert state.unseal(sealed)[1]["pairs"] == [(i, i) for i in range(LARGE_ROWS)]
    _, kept = state.unseal(sealed, keep_packed=True)
    assert state.seal(1, kept) == sealed


def test_snapshots_of_the_first_release_are_read() -> None:
    """Version 1 has everything in the body, behind the header."""
    first = b"LOCKSTEP\0\x01" + (23).to_bytes(8, "big") + state.encode({"window": packed(10_000)})
    position, body = state.unseal(first)
    assert position == 23
    assert [(event.timestamp_ms, event.data) for event in body["window"]] == events(10_000)


@pytest.mark.parametrize("cut", [1, 8, 9, 1_000, 200_000])
def test_a_large_snapshot_that_is_cut_off_is_refused(cut: int) -> None:
    """Wherever it ends, and whatever is missing in front."""
    sealed = state.seal(1, {"window": packed(2 * LARGE_ROWS)})
    with pytest.raises(SnapshotError):
        state.unseal(sealed[:-cut])
    with pytest.raises(SnapshotError):
        state.unseal(sealed[:18] + sealed[18 + cut :])


def test_whose_state_is_not_plain_is_said() -> None:
    """By the path that stands beside it, whatever pairs there are within."""
    body = {"engine": {"operators": [("a/window", 1), ("b/selector", [("key", (1, object()))])]}}
    with pytest.raises(SnapshotError, match="a value of type object cannot be part") as told:
        state.seal(1, body)
    assert told.value.where == "b/selector"
    assert "EXTENDING.md" in (told.value.hint or "")
