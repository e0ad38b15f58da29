"""Messages that are read in columns bring the record that they bring event by event, to the letter;
and what a mapper would refuse is left to it.

LOCKSTEP_MESSAGES says how many of each form there are; 10000 is a good number by hand.
LOCKSTEP_SEED makes them others.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any, Final

import pytest

from lockstep.events.codec import decode_input
from lockstep_services.receiver import columns, mapped
from lockstep_services.receiver.columns import ColumnReader
from lockstep_services.receiver.decode import JSON, NDJSON, MalformedBodyError, decode_text
from lockstep_services.receiver.drafts import RowsDraft
from lockstep_services.receiver.runs import Run, stamped
from lockstep_services.receiver.values import EventReader
from tests.property.mapped_payloads import FORMS, Form, message, own_json

MESSAGES: Final = int(os.environ.get("LOCKSTEP_MESSAGES", "200"))
SEED: Final = os.environ.get("LOCKSTEP_SEED", "")
PROPERTIES: Final = {"x": "1"}


@pytest.fixture(autouse=True, scope="module")
def _no_message_is_small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "COLUMNS_MIN_BYTES", 0)
        patch.setattr(mapped, "COLUMNS_MIN_BYTES", 0)
        yield


def row_by_row(form: Form, reader: Any, body: bytes, timestamp_ms: int | None) -> str | None:
    """The record of the slow way as text; None where anything is refused."""
    try:
        decoded = reader.read(body, PROPERTIES)
    except MalformedBodyError:
        return None
    if decoded.refused:
        return None
    run = stamped(Run(form.schema(), decoded.chunks, len(body)), timestamp_ms)
    return repr(decode_input(RowsDraft(run.schema, run.chunks).encoded(99)))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_columns_are_rows(form: Form) -> None:
    """The same values of the same types, times, ids and chunks."""
    chance = random.Random(f"{form.name} {SEED}")
    reader = form.reader()
    taken = whole = 0
    for _ in range(MESSAGES):
        body = message(form, chance)
        timestamp_ms = chance.choice((None, 7))
        draft = reader.draft(body, PROPERTIES, timestamp_ms)
        expected = row_by_row(form, reader, body, timestamp_ms)
        whole += expected is not None
        if draft is not None:
            taken += 1
            assert repr(decode_input(draft.encoded(99))) == expected, body
    assert taken > MESSAGES / 12, (taken, whole)


@pytest.mark.parametrize("kind", [JSON, NDJSON])
@pytest.mark.parametrize("wraps", [False, True])
def test_columns_of_the_suites_own_json_are_rows(kind: str, wraps: bool) -> None:
    """Bare events, and those within `event`; an array, or lines."""
    chance = random.Random(f"{kind} {wraps} {SEED}")
    form = own_json(wraps=wraps, as_lines=kind == NDJSON)
    schema = form.schema()
    rows, reader = EventReader(schema), ColumnReader(schema)
    taken = 0
    for _ in range(MESSAGES):
        body = message(form, chance)
        draft = reader.read(kind, body, None)
        if draft is None:
            continue
        taken += 1
        decoded = decode_text(kind, body, rows, max_refused=0)
        record = decode_input(RowsDraft(schema, decoded.chunks).encoded(99))
        assert repr(decode_input(draft.encoded(99))) == repr(record), body
    assert taken > MESSAGES / 12
