"""What `trp:` takes of messages that come over the bus."""

from __future__ import annotations

import pytest

from lockstep.bus import PROPERTIES_HEADER
from lockstep_services.receiver.decode import MalformedBodyError
from lockstep_services.receiver.messages import properties_of


def test_headers_are_found_in_any_case() -> None:
    """They are the properties where nothing else is said."""
    assert properties_of({"X-Room": "a"})["x-room"] == "a"


def test_one_header_holds_all_properties_with_their_types() -> None:
    """In place of the others; names are as they were given."""
    held = '{"thing": "p\\u00e4per", "amount": 2.5, "known": null}'
    found = properties_of({PROPERTIES_HEADER: held, "X-Room": "a"})
    assert found == {"thing": "päper", "amount": 2.5, "known": None}


@pytest.mark.parametrize("held", ["", "{", "[1]", "[" * 100_000, '{"a": "\\ud800"}'])
def test_what_holds_none_is_the_senders_mistake(held: str) -> None:
    """Anybody who may send to the app can write it: the message becomes a dead letter."""
    with pytest.raises(MalformedBodyError, match=PROPERTIES_HEADER):
        properties_of({PROPERTIES_HEADER: held})
