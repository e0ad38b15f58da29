"""What `lockstep errors --replay` makes of the coordinator's answer."""

from __future__ import annotations

import pytest

from lockstep.cli.commands.upkeep import not_done, show_revisions, spans, told


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


def test_revisions_of_units_are_told_from_those_of_the_app(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Those alone can be restored; of an app of one unit there are no others."""
    one = {"revision": "layout.1", "unit": None, "version": "v", "created_ms": 0, "position": 7}
    show_revisions([one], as_json=False)
    assert "unit" not in capsys.readouterr().out
    show_revisions([one, {**one, "unit": "'A' group g~2 partition 0"}], as_json=False)
    said = capsys.readouterr().out
    assert "'A' group g~2 partition 0" in said
    assert "one of a unit alone cannot be restored" in said


def test_where_to_go_on_is_told() -> None:
    """Behind what was looked at: what could not be sent stays there, and would come first again.
    By number, and where an earlier release answers, the same command is meant."""
    answer = {"replayed": [1, 2], "refused": {}, "more": True, "next": 1_017}
    assert told(answer, is_all=True) == "sent again: 2\nthere are more: --after 1017"
    assert told(answer, is_all=False) == "sent again: 2\nthere are more: repeat the command"
    earlier = {"removed": 1_000, "more": True}
    assert told(earlier, is_all=True) == "forgotten: 1000\nthere are more: repeat the command"
    assert told({"removed": 3, "more": False}, is_all=True) == "forgotten: 3"
