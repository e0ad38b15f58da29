"""What the command says of answers that are errors."""

from __future__ import annotations

from lockstep.cli.client import HINT_TOKEN, RefusedError


def test_a_missing_token_is_asked_for_in_the_commands_words() -> None:
    """The service speaks of a header, which nobody types here."""
    body = {"detail": "a bearer token is needed", "hint": "send the header Authorization: …"}
    assert RefusedError(401, body, None).hint == HINT_TOKEN


def test_other_hints_are_the_services() -> None:
    """They know better."""
    assert RefusedError(409, {"detail": "x", "hint": "lockstep snapshot"}, None).hint == (
        "lockstep snapshot"
    )
