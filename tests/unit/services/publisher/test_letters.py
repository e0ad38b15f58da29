"""Rows in the error store come back as they were."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

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


ANY = StreamSchema("Out", (Attribute("o", AttributeType.OBJECT), SCHEMA.attributes[1]))


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        -math.inf,
        b"\x00\xff",
        (1, (2.0, None)),
        {3, 4},
        {1: "one", (2, 3): b"x"},
        {"inner": [math.inf, {"deep": b""}]},
        2**70,
    ],
)
def test_values_that_json_cannot_say_come_back_as_they_were(value: Any) -> None:
    """People see them as JSON says them; also by their names, when attributes were reordered."""
    row = OutputRow(OutputId(7, 2), "Out", 99, (value, math.inf))
    binding = replace(BINDING, schema=ANY)
    letter = letter_of(binding, RefusedRow(row, "gone"), clock_ms=5, node="p")
    assert repr(row_of(letter, ANY)) == repr(row)
    turned = StreamSchema("Out", ANY.attributes[::-1])
    assert repr(row_of(letter, turned).data) == repr(row.data[::-1])
    assert set(json.loads(letter.payload)["event"]) == {"o", "x"}


def test_a_deletion_keeps_the_exact_values_of_its_key() -> None:
    """They have no names, and here JSON makes a null of one."""
    deletion = OutputRow(OutputId(8, 0), "Out", 99, (math.inf, 5), Operation.DELETE)
    letter = letter_of(BINDING, RefusedRow(deletion, "gone"), clock_ms=5, node="p")
    assert row_of(letter, SCHEMA) == deletion


def test_what_json_says_is_kept_once() -> None:
    """Most rows are so, and take no more room than before."""
    letter = letter_of(BINDING, RefusedRow(ROW, "gone"), clock_ms=5, node="p")
    assert "exact" not in json.loads(letter.payload)


def test_a_letter_that_an_older_publisher_wrote_is_read() -> None:
    """Its values are what its JSON says."""
    row = OutputRow(OutputId(7, 2), "Out", 99, (b"x", 1.5))
    binding = replace(BINDING, schema=ANY)
    letter = letter_of(binding, RefusedRow(row, "gone"), clock_ms=5, node="p")
    body = json.loads(letter.payload)
    del body["exact"]
    older = replace(letter, payload=json.dumps(body).encode())
    assert row_of(older, ANY).data == ("eA==", 1.5)


@pytest.mark.parametrize("exact", ["?", "AAAA", "kQE=", "wA=="])
def test_a_damaged_letter_is_said(exact: str) -> None:
    """No row is made up of it."""
    row = OutputRow(OutputId(7, 2), "Out", 99, (b"x", 1.5))
    letter = letter_of(replace(BINDING, schema=ANY), RefusedRow(row, "gone"), clock_ms=5, node="p")
    body = {**json.loads(letter.payload), "exact": exact}
    with pytest.raises(UnreadableLetterError):
        row_of(replace(letter, payload=json.dumps(body).encode()), ANY)


def test_a_letter_that_is_not_whole_says_so() -> None:
    """Its JSON ends somewhere."""
    letter = letter_of(BINDING, RefusedRow(ROW, "gone"), clock_ms=5, node="p")
    cut = replace(letter, payload=letter.payload[:9], left_out_bytes=70)
    with pytest.raises(UnreadableLetterError, match="70 bytes of it are missing"):
        sink_of(cut)
