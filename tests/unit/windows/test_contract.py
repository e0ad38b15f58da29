"""What the factory of a window on columns learns of its call."""

from __future__ import annotations

import pytest

from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType
from lockstep.windows.contract import ColumnarCall, columnar_window
from lockstep.windows.length.columns import LengthWindow, NoLengthWindow
from lockstep.windows.time.columns import TimerTimeWindow, TimeWindow
from tests.unit.columns.flows import setup
from tests.unit.windows.played import written


def call_of(example: str) -> ColumnarCall:
    """The call of a window on S."""
    handler, call, _ = written(example)
    return ColumnarCall(handler, call)


def test_arguments_are_read_or_have_no_form() -> None:
    """Literals, flags, and attributes of a type."""
    call = call_of("session(10, k, 5L)")
    assert (len(call), call.constant(0), call.attribute(1, AttributeType.STRING)) == (3, 10, 0)
    assert call_of("timeBatch(20, true)").is_flag(1)
    assert not call.is_flag(1)
    with pytest.raises(NotLowerable, match="session with an argument that varies"):
        call.constant(1)
    with pytest.raises(NotLowerable, match="session without a plain attribute"):
        call.attribute(0, AttributeType.LONG)
    with pytest.raises(NotLowerable, match="session by an attribute of type string"):
        call.attribute(1, AttributeType.LONG)


def test_the_declaration_names_the_factory() -> None:
    """Of time windows it depends on what is wanted which one that is."""
    assert isinstance(columnar_window(call_of("length(3)"), setup()), LengthWindow)
    assert isinstance(columnar_window(call_of("length(0)"), setup()), NoLengthWindow)
    assert isinstance(columnar_window(call_of("time(30)"), setup()), TimerTimeWindow)
    unseen = columnar_window(call_of("timeLength(30, 3)"), setup(wants_expired=False))
    assert isinstance(unseen, TimeWindow)


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        (
            "externalTimeBatch(t, 20, 0, 30, true)",
            "an attribute that the time of its batch replaces",
        ),
        ("sort(2, k)", "sort by an attribute of type string"),
    ],
)
def test_forms_without_columns(example: str, reason: str) -> None:
    """Each says why."""
    with pytest.raises(NotLowerable) as refusal:
        columnar_window(call_of(example), setup())
    assert str(refusal.value) == reason


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        ("timeLength(30, 2)", "expired rows of timeLength in a partition"),
        ("session(10, k)", "session with a key in a partition"),
    ],
)
def test_forms_without_columns_in_a_partition(example: str, reason: str) -> None:
    """Outside they have them."""
    columnar_window(call_of(example), setup())
    with pytest.raises(NotLowerable) as refusal:
        columnar_window(call_of(example), setup(keyed=True))
    assert str(refusal.value) == reason
