"""Log lines and processes as people read them."""

from __future__ import annotations

import json

import pytest

from lockstep.cli.commands.nodes import mixed_versions, node_row
from lockstep.cli.log_lines import readable


def test_a_line_of_json_is_a_sentence() -> None:
    """Time, level and message first; what has blanks in it is quoted."""
    line = {"at_ms": 1_500, "level": "info", "message": "app built", "app": "Hot", "why": "a b"}
    assert readable(json.dumps({**line, "n": 3})) == (
        '1970-01-01 00:00:01.500 info    app built app=Hot why="a b" n=3'
    )


def test_a_traceback_stands_below() -> None:
    """Line by line."""
    line = {"level": "error", "message": "failed", "exception": "Traceback:\n  x\nValueError"}
    assert readable(json.dumps(line)) == "error   failed\nTraceback:\n  x\nValueError"


@pytest.mark.parametrize("line", ["2026-01-01 [info] begun", "[1]", "{}", '{"message": 3}', ""])
def test_other_lines_are_left_as_they_are(line: str) -> None:
    """They are of another shape, or of another program."""
    assert readable(line) == line


@pytest.mark.parametrize("at", [10**30, -(10**30), "x", None, 1.5])
def test_a_time_that_is_none_is_left_out(at: object) -> None:
    """The line is shown all the same."""
    assert readable(json.dumps({"at_ms": at, "level": "info", "message": "m"})) == "info    m"


def test_what_a_terminal_would_obey_is_taken_out() -> None:
    """In plain lines and in values."""
    assert readable("a\x1b[2Jb") == "a\ufffd[2Jb"
    assert readable(json.dumps({"message": "a\x1b[2Jb"})) == "a\ufffd[2Jb"
    assert readable("a\rb\x9b\u202e\ud800") == "a\ufffdb\ufffd\ufffd\ufffd"


def test_letters_of_all_languages_stay() -> None:
    """With what joins them, and the line ends of any editor."""
    text = "na\u00efve\u00a0\u200d\U0001f468\u200d\U0001f469\ta\r\nb"
    assert readable(text) == text


def test_a_process_is_a_row() -> None:
    """What nobody knows is empty; the host's load is told of processors alone."""
    node = {
        "node": "p", "service": "processor", "version": "1", "process_cpu_percent": 7,
        "resident_bytes": 5 * 2**20, "cpu_percent": 40, "leading": False, "drained": True,
    }  # fmt: skip
    row = node_row(node)
    assert (row["cpu"], row["memory"], row["host_cpu"]) == ("7 %", "5 MiB", "40 %")
    assert (row["leading"], row["drained"]) == (None, True)
    row = node_row(
        {**node, "service": "receiver", "process_cpu_percent": None, "resident_bytes": None}
    )
    assert (row["cpu"], row["memory"], row["host_cpu"]) == (None, None, None)


def test_a_mix_of_versions_is_explained() -> None:
    """And nothing is said where there is none."""
    assert mixed_versions([{"version": "2"}, {"version": "2"}]) == ""
    told = mixed_versions([{"version": "2"}, {"version": None}, {"version": "2"}])
    assert told.startswith("Not all are of one version: 2 (2 of 3), an earlier one (1 of 3).")
