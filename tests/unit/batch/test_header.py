"""What scripts say of themselves, and what is wrong with them, by line."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lockstep.batch.checking import (
    Given,
    Misread,
    NoLanguageError,
    checked,
    python_mistakes,
)
from lockstep.batch.header import (
    Language,
    Missed,
    ScriptError,
    header_of,
)
from lockstep.batch.outputs import ToStream, ToTable

WHOLE = """-- A summary for the morning: what came in yesterday.
-- name: daily
-- cron: 0 0 6 * * ? Europe/Berlin
-- output: stream Alerts.Summary
-- retries: 5
-- time-limit: 1 hour 30 min
-- missed: each

-- cron: this line stands behind the header's, but in front of the query
select 1
-- retries: 9
"""


def test_all_that_a_header_can_say() -> None:
    """Comments that say something else are left alone, and what stands behind the text."""
    text = WHOLE.replace("-- cron: this", "-- this")
    found = header_of(text, Language.SQL)
    assert (found.name, found.retries, found.missed) == ("daily", 5, Missed.EACH)
    assert str(found.schedule) == "0 0 6 * * ? Europe/Berlin"
    assert found.output == ToStream("Alerts", "Summary")
    assert found.time_limit_ms == 5_400_000


def test_what_a_header_need_not_say() -> None:
    """The file's name is the script's, its table has that name, and nobody but people start it."""
    found = header_of("select 1", Language.SQL, "by-hand")
    assert (found.name, found.schedule, found.time_limit_ms) == ("by-hand", None, None)
    assert (found.output, found.retries, found.missed) == (ToTable("by_hand"), 3, Missed.LATEST)


def test_all_mistakes_of_a_header_are_told_with_their_lines() -> None:
    """At once, not one after another."""
    text = "# name: a b\n# crom: 0 0 6 * * ? UTC\n# output: file x\n# retries: many\n# missed: no\n"
    text += "# time-limit: 5\n# retries: 4\nx = 1\n"
    with pytest.raises(ScriptError) as caught:
        header_of(text, Language.PYTHON)
    told = {one.line: one for one in caught.value.errors}
    assert set(told) == {1, 2, 3, 4, 5, 6, 7}
    assert told[2].hint == "did you mean 'cron'?"
    assert "stands here twice" in told[7].message
    assert all(one.hint for line, one in told.items() if line != 7)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("def run(batch):\n  return (\n", 2, "never closed"),
        ("x = 1\n", 1, "no function 'run'"),
        ("\ndef run():\n  return 1\n", 2, "one argument"),
        ("\ndef run(a, b):\n  return 1\n", 2, "one argument"),
        ("\ndef run(a, *, b):\n  return 1\n", 2, "one argument"),
        ("async def run(batch):\n  return 1\n", 1, "no function 'run'"),
        ("def run(batch):\n  break\n", 2, "outside loop"),
    ],
)
def test_python_that_cannot_be_taken(text: str, line: int, told: str) -> None:
    """It is compiled, not run."""
    (found,) = python_mistakes(text)
    assert (found.line, told in found.message) == (line, True), found


def test_python_that_can() -> None:
    """With defaults, too."""
    assert python_mistakes("import os\ndef run(batch, n=3):\n    return batch\n") == []


async def test_the_parsers_answer_becomes_the_scripts_mistake() -> None:
    """With line, column and a hint; the parser is asked once for all queries."""
    asked: list[Sequence[str]] = []

    async def misread(texts: Sequence[str]) -> Sequence[Misread | None]:
        asked.append(texts)
        return [None, Misread(2, 5, "Syntax error at or near 'frm'")]

    given = [
        Given("a.sql", "select 1;\n"),
        Given("c.py", "def run(batch): return None"),
        Given("b.sql", "-- name: second\nsel frm"),
    ]
    with pytest.raises(ScriptError, match="second, line 2:5: Syntax error") as caught:
        await checked(given, misread)
    assert asked == [["select 1", "-- name: second\nsel frm"]]
    (mistake,) = caught.value.errors
    assert mistake.as_json()["column"] == 5


async def test_files_that_are_no_scripts_or_have_one_name() -> None:
    """Are refused before anything is parsed."""

    async def misread(texts: Sequence[str]) -> Sequence[Misread | None]:
        raise AssertionError(texts)

    with pytest.raises(NoLanguageError):
        await checked([Given("notes.txt", "")], misread)
    with pytest.raises(ScriptError, match=r"a\.sql and x/a\.sql have the same name|x/a\.sql and"):
        await checked([Given("a.sql", "select 1"), Given("x/a.sql", "select 2")], misread)
