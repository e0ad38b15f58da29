"""Messages of the bus: what `trp:` takes of them, and one that the receiver trips over."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from lockstep.bus import PROPERTIES_HEADER
from lockstep.events import UnavailableError
from lockstep.telemetry import get_logger
from lockstep_services.receiver.accept import Sending
from lockstep_services.receiver.decode import MalformedBodyError, Refusal
from lockstep_services.receiver.messages import BusMessage, Transfer, properties_of


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


class Acceptor:
    """Takes all but a message that makes it fail; keeps what is buried."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.accepted: list[bytes] = []
        self.buried: list[Refusal] = []

    async def accept(self, app: str, stream: str, body: bytes, sending: Sending) -> None:
        """The second one fails."""
        if body == b"2":
            raise self._error
        self.accepted.append(body)

    async def bury(
        self, app: str, stream: str, refused: list[Refusal], content_type: str, key: str | None
    ) -> None:
        """See Acceptor."""
        self.buried += refused


async def _transfer(acceptor: Any) -> list[bytes]:
    """Those of three messages that were acknowledged."""
    acknowledged: list[bytes] = []

    def message(body: bytes) -> BusMessage:
        async def acknowledge() -> None:
            acknowledged.append(body)

        return BusMessage("A", "S", body, {}, None, acknowledge)

    try:
        await Transfer(acceptor, get_logger()).all([message(one) for one in (b"1", b"2", b"3")])
    except UnavailableError:
        return [*acknowledged, b"away"]
    return acknowledged


async def test_a_message_that_the_receiver_trips_over_holds_up_no_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is a dead letter. What a mistake it is the log says, without what the message holds."""
    acceptor = Acceptor(KeyError("secret"))
    with caplog.at_level(logging.WARNING, "lockstep.mapping.reading"):
        acknowledged = await _transfer(acceptor)
    assert sorted(acknowledged) == [b"1", b"2", b"3"]
    assert acceptor.accepted == [b"1", b"3"]
    assert [one.payload for one in acceptor.buried] == [b"2"]
    assert "the receiver has no answer to a value: KeyError" in acceptor.buried[0].reason
    assert "raise self._error" in caplog.text
    assert "secret" not in caplog.text


async def test_no_message_is_buried_for_what_is_away() -> None:
    """It comes again."""
    acceptor = Acceptor(UnavailableError("the bus is away"))
    assert await _transfer(acceptor) == [b"1", b"3", b"away"]
    assert not acceptor.buried
