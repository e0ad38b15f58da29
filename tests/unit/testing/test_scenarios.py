"""Test files: reading, playing, telling differences, rewriting."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.events import AttributeType
from lockstep.testing.difference import differences
from lockstep.testing.files import run_file, run_paths
from lockstep.testing.play import play
from lockstep.testing.scenario import ScenarioError, parse_file, render_file
from lockstep.testing.values import read_value, show_value, split_words

APP = """define stream S (s string, v int);
@info(name='q') from S#window.length(1) select s, v insert all events into O;
"""
GOOD = (
    APP
    + """
--- test: pushes out
@watch O
# the first stays
S - a 1
  => q: C 0[a, 1]
  => -> O: 0[a, 1]
@advance 5 millisec
S - b 2
  => q: X 5[a, 1]  C 5[b, 2]
  => -> O: 5[a, 1] 5[b, 2]
"""
)


def test_read_and_rendered_again() -> None:
    """A file with its own expectations is its own text."""
    parsed = parse_file(GOOD)
    brought = [[call.expected for call in s.calls] for s in parsed.scenarios]
    assert render_file(parsed, brought) == GOOD


def test_played_as_expected() -> None:
    """Queries with a name, watched streams, the clock."""
    (scenario,) = parse_file(GOOD).scenarios
    assert differences(scenario, play(scenario)) == []
    assert differences(scenario, play(scenario, cut=2)) == []


def test_differences_show_what_came() -> None:
    """Missing lines with -, surplus ones with +, below the call."""
    (scenario,) = parse_file(GOOD.replace("C 0[a, 1]", "C 0[a, 7]")).scenarios
    (found,) = differences(scenario, play(scenario))
    assert found.text() == (
        "line 7: S - a 1\n"
        "  - q: C 0[a, 7]\n"
        "  + q: C 0[a, 1]\n"
        "  ? current event 1: v is 1, expected 7\n"
        "    -> O: 0[a, 1]"
    )


def test_update_rewrites_the_expectations(tmp_path: Path) -> None:
    """Comments and calls stay as they are."""
    file = tmp_path / "app.siddhi"
    file.write_text(GOOD.replace("[b, 2]", "[b, 7]"))
    assert not run_file(file)[0].passed
    assert run_file(file, update=True)[0].passed
    assert file.read_text() == GOOD


def test_tests_may_stand_beside_the_app(tmp_path: Path) -> None:
    """x.test holds the tests of x.siddhi; folders are searched."""
    (tmp_path / "app.siddhi").write_text(APP)
    (tmp_path / "app.test").write_text(GOOD.removeprefix(APP))
    (report,) = run_paths([tmp_path])
    assert report.passed
    assert [report.file.name] == ["app.test"]
    assert [report.passed for report in run_paths([tmp_path / "app.siddhi"])] == [True]


def test_broken_tests_are_reported(tmp_path: Path) -> None:
    """An invalid app or call fails its test with the reason."""
    file = tmp_path / "bad.siddhi"
    file.write_text(GOOD.replace("S - b 2", "S - b"))
    (report,) = run_file(file)
    assert "1 value for 2 attributes" in (report.error or "")
    file.write_text(GOOD.replace("select s, v", "select s, w"))
    (report,) = run_file(file)
    assert "w" in (report.error or "")
    assert report.as_json()["passed"] is False


@pytest.mark.parametrize("text", ["--- test\n  => q: C 1[a]\n"])
def test_expectations_need_a_call(text: str) -> None:
    """Nothing can be brought by nothing."""
    with pytest.raises(ScenarioError, match="before any call"):
        parse_file(text)


def test_other_calls(tmp_path: Path) -> None:
    """On-demand queries, snapshots, messages, refusals, dropped events."""
    file = tmp_path / "app.siddhi"
    file.write_text(
        """@source(type='inMemory', topic='in')
define stream S (s string, b bool);
define table T (s string);
@sink(type='inMemory', topic='out')
define stream O (b bool);
from S select s insert into T;
from S select and(b) as b insert into O;

--- test: everything else
S - x true
  => topic out: 0[true]
@query from T select s
  => result: [x]
@query from T select nothing
  => error: 'nothing' is not an attribute of T
@snap
S - y null
  => fault: S 0[y, null]
@restore
@query from T select s
  => result: [x]
"""
    )
    (report,) = run_file(file)
    assert report.passed, report.text()


def test_a_fault_tells_its_reason(tmp_path: Path) -> None:
    """Behind the events, as a comment: `--update` writes it, and nothing depends on it."""
    file = tmp_path / "app.siddhi"
    text = """define function half[python] return double { return data[0] / 2 };
define stream S (s string, v int);
from S select half(v) as h insert into O;

--- test: nothing to halve
S - 'a] -- b' null
"""
    file.write_text(text)
    run_file(file, update=True)
    shown = file.read_text().removeprefix(text)
    assert shown.startswith("  => fault: S 0['a] -- b', null] -- "), shown
    assert "function half: TypeError: unsupported operand" in shown
    file.write_text(text + shown.replace("TypeError", "another reason"))
    assert all(report.passed for report in run_file(file))
    file.write_text(text + "  => fault: S 0[a, null] -- function half\n")
    (report,) = run_file(file)
    assert "function half: TypeError" in report.text()


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        ("plain text", None, "plain text"),
        ("a, b", None, "'a, b'"),
        ("", None, "''"),
        ("null", None, "'null'"),
        (None, None, "null"),
        (True, None, "true"),
        (0.10000000149011612, AttributeType.FLOAT, "0.1"),
        (1e10, AttributeType.DOUBLE, "1.0E10"),
        ([1, None], None, "[1, null]"),
        ({"a": 1}, None, "{a=1}"),
        ({2, 1}, None, "{1, 2}"),
    ],
)
def test_values_shown(value: object, type_: AttributeType | None, text: str) -> None:
    """Plain where that reads back, quoted where it would not, numbers as in Java."""
    assert text == show_value(value, type_)


def test_values_read() -> None:
    """By the attribute's type; quotes keep words together."""
    assert split_words("""'a b' 7 {"x": 1} null""") == ["'a b'", "7", '{"x": 1}', "null"]
    assert read_value("'a b'", AttributeType.STRING) == "a b"
    assert read_value('{"x": 1}', AttributeType.OBJECT) == {"x": 1}
    assert read_value("null", AttributeType.INT) is None
    assert read_value("true", AttributeType.BOOL) is True
    with pytest.raises(ValueError, match="no bool"):
        read_value("yes", AttributeType.BOOL)
