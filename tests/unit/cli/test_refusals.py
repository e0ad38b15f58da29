"""What the command says of answers that are errors."""

from __future__ import annotations

import pytest

from lockstep.cli.refusals import (
    HINT_TOKEN,
    NotLockstepError,
    RefusedError,
    UnsendableError,
    answer_of,
    sendable,
)


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


@pytest.mark.parametrize(
    "errors", ["all of them", 7, {"line": 1}, ["x", None, {"errors": ["y", 1]}]]
)
def test_errors_that_are_no_objects_are_left_out(errors: object) -> None:
    """A proxy's answer may hold anything; what it says is told."""
    assert str(RefusedError(502, {"detail": "bad gateway", "errors": errors}, None)) == (
        "bad gateway"
    )


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("2", 2.0), ("0.5", 0.5), ("Sun, 29 Nov 2026 22:00:00 GMT", None), ("inf", None), ("", None)],
)
def test_when_to_come_again_may_be_a_date(said: str, seconds: float | None) -> None:
    """Which is no defect of the command; it pauses as without."""
    with pytest.raises(RefusedError, match="busy") as refused:
        answer_of(503, said, b'{"detail": "busy"}')
    assert refused.value.retry_after_s == seconds


@pytest.mark.parametrize(
    "value", ["secret\n", "sec\rret", "\x00secret", "secret\x7f", "secret\udcff"]
)
def test_a_header_that_cannot_be_sent_is_not_told(value: str) -> None:
    """It may be a token."""
    with pytest.raises(UnsendableError, match="Authorization") as refused:
        sendable({"Authorization": value})
    assert "sec" not in str(refused.value)


def test_a_redirect_is_told_with_where_it_leads() -> None:
    """As a whole address, without what stands behind it."""
    with pytest.raises(
        NotLockstepError, match=r"^http://a/v1/apps leads to http://a/login \("
    ) as led:
        answer_of(302, None, b"", url="http://a/v1/apps", leads_to="/login?state=7")
    assert not led.value.retryable


@pytest.mark.parametrize("payload", [b"", b"<html>", b"null", b"[1]", b'"x"', b"\xff"])
def test_other_answers_are_nobodys_of_the_suite(payload: bytes) -> None:
    """Each service answers with an object, or with status 204."""
    assert answer_of(204, None, b"") is None
    with pytest.raises(NotLockstepError, match=r"^what answers at http://a is not Lockstep \("):
        answer_of(200, None, payload, url="http://a")


def test_a_member_that_is_not_there_is_told() -> None:
    """Where it is asked for as if it had to be."""
    answer = answer_of(200, None, b'{"hello": 1}', url="http://a")
    assert (answer["hello"], answer.get("apps"), dict(answer)) == (1, None, {"hello": 1})
    with pytest.raises(NotLockstepError, match="has no 'apps'"):
        answer["apps"]
