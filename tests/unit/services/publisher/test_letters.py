"""Rows in the error store come back as they were."""

import pytest

from lockstep.events import Attribute, AttributeType, Operation, OutputId, OutputRow, StreamSchema
from lockstep_services.publisher.contract import RefusedRow, SinkBinding
from lockstep_services.publisher.letters import UnreadableLetterError, letter_of, row_of, sink_of

SCHEMA = StreamSchema(
    "Out",
    (
        Attribute("k", AttributeType.STRING),
        Attribute("x", AttributeType.DOUBLE),
        Attribute("n", AttributeType.LONG),
        Attribute("b", AttributeType.BOOL),
    ),
)
BINDING = SinkBinding("A", SCHEMA, "Out.0.http")
ROW = OutputRow(OutputId(7, 2), "Out", 99, ("ä", 2.0, 2**62, None), Operation.UPSERT)


def test_a_row_survives() -> None:
    """Identity, time, operation and values with their types."""
    letter = letter_of(BINDING, RefusedRow(ROW, "gone"), clock_ms=5, node="p")
    assert sink_of(letter) == "Out.0.http"
    found = row_of(letter, SCHEMA)
    assert found == ROW
    assert isinstance(found.data[1], float)


def test_a_deletion_bears_the_keys_values_alone() -> None:
    """They have no names of their own."""
    deletion = OutputRow(OutputId(8, 0), "Out", 99, ("ä", 5), Operation.DELETE)
    letter = letter_of(BINDING, RefusedRow(deletion, "gone"), clock_ms=5, node="p")
    assert row_of(letter, SCHEMA) == deletion


def test_a_stream_that_has_changed_is_said() -> None:
    """Its row belongs to the old shape."""
    letter = letter_of(BINDING, RefusedRow(ROW, "gone"), clock_ms=5, node="p")
    with pytest.raises(UnreadableLetterError, match="k, x, n, b"):
        row_of(letter, StreamSchema("Out", SCHEMA.attributes[:2]))
