"""What a revision holds beside the state comes back as it was."""

import pytest

from lockstep.events import Event, Operation, OutputId, OutputRow
from lockstep.execute.contract import EventFault
from lockstep_services.processor.state.envelope import Contents, EnvelopeError, seal, unseal


def test_contents_survive() -> None:
    """Text, snapshot, rows of several streams and operations, dead letters with objects."""
    rows = (
        OutputRow(OutputId(3, 0), "Out", 5, ("x", 1.5, None)),
        OutputRow(OutputId(3, 1), "T", 6, ("k",), Operation.DELETE),
        OutputRow(OutputId(4, 0), "Out", 7, ("y", 2.5, {"a": [1, (2,)]})),
    )
    faults = (EventFault(4, "In", (Event(9, ("x", {1, 2})),), None, "bad"),)
    contents = Contents("text", b"\x00snapshot", rows, faults, b"sends", (5, 9))
    assert unseal(seal(contents)) == contents


def test_nothing_held_back() -> None:
    """The usual case for a leader."""
    contents = Contents("text", b"s", (), ())
    assert unseal(seal(contents)) == contents


def test_other_bytes_are_refused() -> None:
    """Damaged or foreign."""
    with pytest.raises(EnvelopeError):
        unseal(b"hello")
