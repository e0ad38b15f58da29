"""What the command says of answers that are errors."""

from __future__ import annotations

from lockstep.cli.refusals import HINT_TOKEN, RefusedError


def test_a_missing_token_is_asked_for_in_the_commands_words() -> None:
    """The service speaks of a header, which nobody types here."""
    body = {"detail": "a bearer token is needed", "hint": "send the header Authorization: …"}
    assert RefusedError(401, body, None).hint == HINT_TOKEN


def test_other_hints_are_the_services() -> None:
    """They know better."""
    assert RefusedError(409, {"detail": "x", "hint": "lockstep snapshot"}, None).hint == (
        "lockstep snapshot"
    )


def test_a_mistake_in_a_text_is_told_with_its_place() -> None:
    """As the presenter says it: the words beside, the place among the errors."""
    error = RefusedError(
        400, {"detail": "'x' is not defined", "errors": [{"line": 1, "column": 6}]}, None
    )
    assert str(error) == "line 1:6: 'x' is not defined"


def test_refused_lines_are_told_each() -> None:
    """With what is wrong in them."""
    line = {"line": 2, "errors": [{"field": "n", "message": "missing"}]}
    assert str(RefusedError(400, {"detail": "1 of 2", "errors": [line]}, None)) == (
        "1 of 2: line 2: n: missing"
    )


def test_the_only_mistake_is_told_once() -> None:
    """It is the text of the answer already, which says where, too."""
    mistake = {"line": 2, "message": "it has no time zone"}
    body = {"detail": "it has no time zone", "where": "nightly, line 2", "errors": [mistake]}
    assert str(RefusedError(400, body, None)) == "nightly, line 2: it has no time zone"
    told = str(RefusedError(400, {**body, "errors": [mistake, {"line": 3, "message": "x"}]}, None))
    assert told.endswith("line 2: it has no time zone; line 3: x")
