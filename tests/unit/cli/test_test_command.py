"""`lockstep test`: what passes, what differs and how it is told, what --update writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Lockstep

APP = """define stream S (k string, v int, w double);
@info(name='sums')
from S#window.length(2) select k, sum(v) as total, w insert all events into Sums;
@info(name='plain') from S select k, v insert into Plain;
"""
PASSING = """# What the sums do.

--- test: sums move along
@watch Plain

S 1000 a 1 0.5
  => sums: C 1000[a, 1, 0.5]
  => plain: C 1000[a, 1]
  => -> Plain: 1000[a, 1]
# two at once
S 2000 b 2 1.5 | 2000 c 3 2.5
  => sums: C 2000[c, 5, 2.5]
  => plain: C 2000[b, 2] 2000[c, 3]
  => -> Plain: 2000[b, 2] 2000[c, 3]
"""


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    """app.test beside app.siddhi; passes."""
    (tmp_path / "app.siddhi").write_text(APP)
    file = tmp_path / "app.test"
    file.write_text(PASSING)
    return file


def failing(tests: Path, old: str, new: str) -> Path:
    """The same with an expectation broken."""
    text = tests.read_text()
    assert old in text
    tests.write_text(text.replace(old, new))
    return tests


def told(lockstep: Lockstep, tests: Path) -> list[str]:
    """The lines that a failing run prints, the first one aside."""
    done = lockstep("test", tests)
    assert done.exit_code == 1
    head, *lines = done.stdout.splitlines()
    assert head == f"FAIL {tests}: sums move along"
    assert lines[-2:] == [
        "- was expected, + came; lockstep test --update accepts what came",
        "0 passed, 1 failed",
    ]
    return lines[:-2]


@pytest.mark.parametrize("name", ["app.test", "app.siddhi", "."])
def test_passes(lockstep: Lockstep, tests: Path, name: str) -> None:
    """Given as the test file, the app, or the folder."""
    done = lockstep("test", tests.parent / name)
    assert done.exit_code == 0
    assert done.stdout == f"ok   {tests}: sums move along\n1 passed, 0 failed\n"


def test_a_wrong_value_is_named_by_its_attribute(lockstep: Lockstep, tests: Path) -> None:
    """The call, both lines, and which value of which event differs how."""
    failing(tests, "[c, 5, 2.5]", "[c, 6, 2.5]")
    assert told(lockstep, tests) == [
        "  line 11: S 2000 b 2 1.5 | 2000 c 3 2.5",
        "    - sums: C 2000[c, 6, 2.5]",
        "    + sums: C 2000[c, 5, 2.5]",
        "    ? current event 1: total is 5, expected 6",
        "      plain: C 2000[b, 2] 2000[c, 3]",
        "      -> Plain: 2000[b, 2] 2000[c, 3]",
    ]


def test_a_wrong_event_among_many(lockstep: Lockstep, tests: Path) -> None:
    """Its number, its time, its values."""
    failing(tests, "plain: C 2000[b, 2] 2000[c, 3]", "plain: C 2000[b, 2] 2001[d, 4]")
    assert "    ? current event 2: its time is 2000, expected 2001, k is c, expected d, " in (
        "\n".join(told(lockstep, tests))
    )


def test_an_event_that_did_not_come(lockstep: Lockstep, tests: Path) -> None:
    """Those behind it are not counted as different."""
    failing(tests, "Plain: 2000[b, 2] 2000[c, 3]", "Plain: 2000[x, 9] 2000[b, 2] 2000[c, 3]")
    assert "    ? event 1 is missing: 2000[x, 9]" in told(lockstep, tests)


def test_an_event_too_many(lockstep: Lockstep, tests: Path) -> None:
    """It is shown."""
    failing(tests, "Plain: 2000[b, 2] 2000[c, 3]", "Plain: 2000[b, 2]")
    assert "    ? event 2 was not expected: 2000[c, 3]" in told(lockstep, tests)


def test_expired_and_current_are_told_apart(lockstep: Lockstep, tests: Path) -> None:
    """An expired event that nobody expected is not a wrong current one."""
    failing(tests, "sums: C 1000[a, 1, 0.5]", "sums: X 1000[a, 1, 0.5]")
    lines = told(lockstep, tests)
    assert "    ? expired event 1 is missing: 1000[a, 1, 0.5]" in lines
    assert "    ? current event 1 was not expected: 1000[a, 1, 0.5]" in lines


def test_a_whole_line_that_did_not_come(lockstep: Lockstep, tests: Path) -> None:
    """It stands alone; the lines behind it are equal."""
    failing(tests, "  => sums: C 1000", "  => more: C 1000[x]\n  => sums: C 1000")
    assert told(lockstep, tests) == [
        "  line 6: S 1000 a 1 0.5",
        "    - more: C 1000[x]",
        "      sums: C 1000[a, 1, 0.5]",
        "      plain: C 1000[a, 1]",
        "      -> Plain: 1000[a, 1]",
    ]


def test_many_differences_are_told_in_short(lockstep: Lockstep, tmp_path: Path) -> None:
    """Eight events one by one, then their number."""
    events = " | ".join(f"1 a {n} 0.0" for n in range(20))
    wrong = " ".join("1[b]" for _ in range(20))
    file = tmp_path / "many.siddhi"
    file.write_text(
        "define stream S (k string, v int, w double);"
        "@info(name='q') from S select k insert into O;\n"
        f"--- test: sums move along\nS {events}\n  => q: C {wrong}\n"
    )
    lines = told(lockstep, file)
    assert sum("k is a, expected b" in line for line in lines) == 8
    assert "    ? and 12 more" in lines


def test_texts_with_signs_in_them_are_one_value(lockstep: Lockstep, tmp_path: Path) -> None:
    """Commas, brackets and quotes inside values do not confuse the comparison."""
    file = tmp_path / "signs.siddhi"
    file.write_text(
        "define stream S (k string, v int);"
        "@info(name='q') from S select k, v insert into O;\n"
        "--- test: sums move along\nS 1 'a, [b] it' 5\n  => q: C 1['a, [b] it', 6]\n"
    )
    assert "    ? current event 1: v is 5, expected 6" in told(lockstep, file)


def test_update_rewrites_expectations_and_nothing_else(lockstep: Lockstep, tests: Path) -> None:
    """Comments, blank lines and the order of everything stay."""
    failing(tests, "[c, 5, 2.5]", "[c, 6, 2.5]")
    failing(tests, "  => plain: C 1000[a, 1]\n", "")
    done = lockstep("test", "--update", tests)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"new  {tests}: sums move along\n")
    assert done.stdout.endswith("1 passed, 0 failed, 1 of them rewritten\n")
    assert tests.read_text() == PASSING
    assert lockstep("test", tests).exit_code == 0


def test_update_fills_in_a_file_without_expectations(lockstep: Lockstep, tests: Path) -> None:
    """The way tests are written: calls first, what comes is read and accepted."""
    calls = [line for line in PASSING.splitlines() if not line.startswith("  =>")]
    tests.write_text("\n".join(calls) + "\n")
    assert lockstep("test", "--update", tests).exit_code == 0
    assert tests.read_text() == PASSING


def test_update_does_not_touch_what_passes(lockstep: Lockstep, tests: Path) -> None:
    """Nor its time of change."""
    before = tests.stat().st_mtime_ns
    assert lockstep("test", "--update", tests).exit_code == 0
    assert tests.stat().st_mtime_ns == before


def test_update_keeps_what_it_cannot_play(lockstep: Lockstep, tests: Path) -> None:
    """A broken part fails, the others are rewritten."""
    failing(tests, "[c, 5, 2.5]", "[c, 6, 2.5]")
    with tests.open("a") as file:
        file.write("\n--- test: broken\nT 1 a\n  => q: C 1[a]\n")
    done = lockstep("test", "--update", tests)
    assert done.exit_code == 1
    assert tests.read_text() == PASSING + "\n--- test: broken\nT 1 a\n  => q: C 1[a]\n"


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("T - a 1 0.5", "there is no stream T (hint: there is S, Sums, Plain)"),
        ("Su - a 1 0.5", "there is no stream Su (hint: did you mean 'Sums'?)"),
        (
            "S - a 1",
            "2 values for 3 attributes (hint: behind S stand a time (or -) and k, v, w)",
        ),
        (
            "S a 1 0.5",
            "2 values for 3 attributes (hint: behind S stand a time (or -) and k, v, w)",
        ),
        (
            "S a b 1 0.5",
            "'a' is no time (hint: write milliseconds, or - for now, before the values)",
        ),
        ("S - a one 0.5", "'one' is no int"),
        ("S - a 1 half", "'half' is no double"),
        (
            "@advence 5 sec",
            "there is no call @advence (hint: there are "
            "@advance, @query, @publish, @snap, @restore, @watch)",
        ),
        ("@advance soon", "'soon' is no duration such as '10 sec'"),
        ("@restore", "@restore without @snap"),
        (
            "@publish nowhere x",
            "no source listens to topic 'nowhere' (hint: the app has no sources)",
        ),
    ],
)
def test_calls_that_make_no_sense(lockstep: Lockstep, tests: Path, call: str, reason: str) -> None:
    """The test fails with its line, the call, and what is wrong with it."""
    tests.write_text(f"--- test: sums move along\n{call}\n")
    done = lockstep("test", tests)
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        f"FAIL {tests}: sums move along",
        f"  line 2: {call}: {reason}",
        "0 passed, 1 failed",
    ]


def test_an_invalid_app_fails_its_tests(lockstep: Lockstep, tests: Path) -> None:
    """With the position in the app's text, and a hint."""
    app = tests.with_suffix(".siddhi")
    app.write_text(APP.replace("sum(v)", "sum(vv)"))
    done = lockstep("test", tests)
    assert done.exit_code == 1
    assert "line 3:39: 'vv' is not an attribute of S (hint: did you mean 'v'?)" in done.stdout


def test_an_app_without_tests(lockstep: Lockstep, tests: Path) -> None:
    """Asked for, it is a failure that says where tests belong."""
    tests.unlink()
    done = lockstep("test", tests.with_suffix(".siddhi"))
    assert done.exit_code == 1
    assert (
        "app.siddhi has no tests (hint: write them behind '--- test:' at its end, " in done.stdout
    )


def test_tests_without_an_app(lockstep: Lockstep, tests: Path) -> None:
    """The missing file is named."""
    tests.with_suffix(".siddhi").unlink()
    done = lockstep("test", tests)
    assert done.exit_code == 1
    assert "app.test tests app.siddhi, which does not stand beside it" in done.stdout


def test_a_folder_without_tests(lockstep: Lockstep, tmp_path: Path) -> None:
    """Nothing run is nothing proved."""
    done = lockstep("test", tmp_path)
    assert done.exit_code == 1
    assert done.stdout == "there are no tests\n"


def test_a_file_that_is_no_text(lockstep: Lockstep, tests: Path) -> None:
    """No stack trace."""
    tests.write_bytes(b"\xff\xfe\x00")
    done = lockstep("test", tests)
    assert done.exit_code == 1
    assert "is no text in UTF-8" in done.stdout


def test_what_apps_log_is_no_answer(lockstep: Lockstep, tests: Path) -> None:
    """It goes to standard error, so that JSON stays JSON."""
    app = tests.with_suffix(".siddhi")
    app.write_text(APP.replace("from S#window", "from S#log('seen')#window"))
    done = lockstep("test", "--json", tests)
    assert json.loads(done.stdout)[0]["passed"] is True
    assert "seen" in done.stderr


def test_as_json(lockstep: Lockstep, tests: Path) -> None:
    """For editors and build servers: every difference with its line."""
    failing(tests, "[c, 5, 2.5]", "[c, 6, 2.5]")
    done = lockstep("test", "--json", tests)
    assert done.exit_code == 1
    (report,) = json.loads(done.stdout)
    assert report["passed"] is False
    (difference,) = report["differences"]
    assert difference["line"] == 11
    assert difference["expected"][0] == "sums: C 2000[c, 6, 2.5]"
    assert difference["actual"][0] == "sums: C 2000[c, 5, 2.5]"
    assert difference["notes"] == ["current event 1: total is 5, expected 6"]


@pytest.mark.parametrize("arguments", [("/nowhere",), ("--executor", "abacus", "."), ()])
def test_wrong_usage(lockstep: Lockstep, arguments: tuple[str, ...]) -> None:
    """Exit code 2 and a word about it."""
    done = lockstep("test", *arguments)
    assert done.exit_code == 2
    assert done.stderr
