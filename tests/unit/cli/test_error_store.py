"""What `lockstep errors --replay` makes of the coordinator's answer."""

from __future__ import annotations

import pytest

from lockstep.cli.commands.upkeep import not_done


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
