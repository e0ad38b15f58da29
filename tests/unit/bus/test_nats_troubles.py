"""What is told of a NATS server that cannot be reached or entered, and how often."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nats.errors
import pytest
from nats.aio.client import Client
from structlog.testing import capture_logs

from lockstep.bus.nats.dialing import hang_up
from lockstep.bus.nats.errors import CredentialsError, is_refusal
from lockstep.bus.nats.renewing import RenewingClient
from lockstep.bus.nats.troubles import Troubles
from lockstep.events import UnavailableError

REFUSED = nats.errors.Error("nats: 'Authorization Violation'")


def levels(told: list[Any]) -> list[str]:
    """Of the lines that are not for debugging."""
    return [one["log_level"] for one in told if one["log_level"] != "debug"]


def test_the_log_is_told_once_in_a_minute() -> None:
    """Ten attempts a second fail: a refusal is an error, being away a warning."""
    troubles = Troubles("a:4222")
    troubles.ended()
    with capture_logs() as told:
        for tenth in range(599):
            troubles.heard(REFUSED, tenth / 10)
            troubles.away(UnavailableError("away"), tenth / 10)
        assert levels(told) == ["error", "warning"]
        troubles.heard(REFUSED, 60.0)
        troubles.away(UnavailableError("away"), 60.0)
    assert levels(told) == ["error", "warning"] * 2


def test_the_last_answer_counts() -> None:
    """A server that is away now is not said to refuse; nor is one that lets us in."""
    troubles = Troubles("a:4222")
    troubles.heard(REFUSED, 0.0)
    assert "Authorization Violation" in str(troubles.error("no"))
    troubles.heard(ConnectionRefusedError(), 0.1)
    assert str(troubles.error("no")) == "a:4222: no"
    troubles.heard(CredentialsError("/me.creds", "empty"), 0.2)
    assert "/me.creds" in str(troubles.error("no"))
    troubles.ended()
    assert str(troubles.error("no")) == "a:4222: no"


def test_who_was_never_in_writes_no_line() -> None:
    """The error that ends the process tells it."""
    with capture_logs() as told:
        Troubles("a:4222").heard(REFUSED, 0.0)
    assert levels(told) == []


def test_a_file_is_no_refusal_whatever_it_is_called() -> None:
    """It may be whole in a moment."""
    assert is_refusal(REFUSED)
    assert not is_refusal(CredentialsError("/authorization/me.creds", "empty"))


@pytest.mark.parametrize("client", [Client, RenewingClient])
async def test_a_client_that_never_began_can_be_given_back(client: type[Client]) -> None:
    """Whatever kept it from beginning is told, and not this."""
    await hang_up(client())


@pytest.mark.parametrize("content", ["", "-----BEGIN USER NKEY SEED-----\nSU\n"])
def test_a_file_without_a_token_is_not_searched_for_ever(tmp_path: Path, content: str) -> None:
    """As the library does."""
    file = tmp_path / "me.creds"
    file.write_text(content)
    client = RenewingClient()
    client._user_credentials = str(file)
    client._server_info = {"nonce": "n"}
    with pytest.raises(CredentialsError, match=r"me\.creds"):
        client._connect_command()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nats: 'Authorization Violation'", True),
        ("nats: 'User Authentication Expired'", True),
        ("nats: 'Account Authentication Expired'", True),
        ("nats: authorization failed", True),
        ('nats: permissions violation for publish to "presenter.authorization-log.s"', False),
        ("nats: 'Authentication Timeout'", False),
    ],
)
def test_a_refusal_is_known_by_the_servers_words(text: str, expected: bool) -> None:
    """A subject may have any name in it, and whoever may not publish is in."""
    assert is_refusal(nats.errors.Error(text)) is expected
