"""What `lockstep errors --replay` makes of the coordinator's answer."""

from __future__ import annotations

import pytest

from lockstep.cli.commands.upkeep import not_done, spans


def test_numbers_that_are_not_there_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped number is no success."""
    assert not_done({"replayed": [17], "refused": {}, "more": False}, [17, 3])
    assert "not sent again: 3" in capsys.readouterr().err


def test_all_of_them_went() -> None:
    """Nothing to say."""
    assert not not_done({"replayed": [17, 18], "refused": {}, "more": False}, [17, 18])


def test_refused_again() -> None:
    """By the sink, which has said why."""
    assert not_done({"replayed": [], "refused": {"17": "HTTP 400"}, "more": False}, None)


def test_other_answers_are_no_replays() -> None:
    """Lists and purges."""
    assert not not_done({"removed": 2, "more": False}, None)
    assert not not_done({"errors": []}, None)


def test_one_reason_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A sink that is away refuses a thousand rows with the same words."""
    refused = {str(number): "connection refused" for number in (11, 12, 13, 17)}
    assert not_done({"replayed": [], "refused": refused, "more": False}, None)
    assert capsys.readouterr().err == "not sent again: 11-13, 17: connection refused\n"


def test_spans_of_numbers() -> None:
    """Sorted, neighbours joined."""
    assert spans([5, 3, 2, 9, 10, 11]) == "2-3, 5, 9-11"
    assert spans([]) == ""
