"""What an editor knows of a text, whole or broken: problems, completion, hover, names, format."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.editing import complete, definition, formatted, hover, known, occurrences
from lockstep.editing.pieces import pieces
from lockstep.testing.scenario import app_of

ROOT = Path(__file__).parents[3]
APPS = sorted([*ROOT.glob("libs/lockstep/samples/*.siddhi"), *ROOT.glob("tests/golden/*/*.test")])
TEXT = """@app:name('Hot')
define stream Reading (room string, celsius double);
define table Rooms (room string, celsius double);
@info(name='mean')
from Reading#window.time(1 min) select room, avg(celsius) as mean insert into RoomMean;
from RoomMean[mean > 30.0] select room insert into HotRoom;
"""


def labels(text: str, behind: str) -> list[str]:
    """What may stand behind the last place of these words."""
    offset = text.rindex(behind) + len(behind)
    return [each.label for each in complete(text, offset, known(TEXT))]


def test_every_problem_that_is_no_consequence_is_told() -> None:
    """A mistake hides neither a later one nor the names of the rest; what follows of it is not
    told."""
    broken = TEXT.replace("mean > 30.0", "heat > 30.0").replace(
        "define table Rooms (room string", "define table Rooms (room strin"
    )
    found = known(broken)
    assert [(each.line, each.column) for each in found.problems] == [(3, 26), (6, 15)]
    assert found.problems[1].hint is not None
    assert {"Reading", "RoomMean"} <= set(found.names)
    assert found.app is None
    only = known(TEXT.replace("celsius double);\ndefine t", "celsius doubl);\ndefine t"))
    assert [each.line for each in only.problems] == [2]


def test_a_valid_text_has_its_app_and_the_inferred_streams() -> None:
    """Streams that only queries make have their attributes, too."""
    found = known(TEXT)
    assert (found.problems, found.app is not None) == ([], True)
    assert found.names["RoomMean"].line() == "stream RoomMean (room string, mean double)"
    assert found.names["Rooms"].kind == "table"


@pytest.mark.parametrize(
    ("text", "behind", "there", "absent"),
    [
        (TEXT + "from ", "from ", "Reading", "avg"),
        (TEXT + "from Reading select ", "select ", "celsius", "Reading"),
        (TEXT + "from Reading select ", "select ", "avg", "time"),
        (TEXT + "from Reading#window.", "window.", "timeBatch", "avg"),
        (TEXT + "from Reading select math:", "math:", "sqrt", "avg"),
        (TEXT + "from Reading as r join Rooms as t on r.", "r.", "celsius", "avg"),
        (TEXT + "from Reading select room insert into ", "into ", "Rooms", "avg"),
        (TEXT + "from e1=Reading -> e2=RoomMean[e2.", "e2.", "mean", "celsius"),
        (TEXT, ";\n", "define stream", "room"),
        (TEXT + "@", "@", "info", "room"),
    ],
)
def test_completion_fits_the_place(text: str, behind: str, there: str, absent: str) -> None:
    """Sources behind `from`, attributes and functions in expressions, windows behind `#window.`"""
    found = labels(text, behind)
    assert there in found
    assert absent not in found


def test_functions_are_completed_with_their_signature() -> None:
    """What a call takes and gives stands beside its name."""
    text = TEXT + "from Reading select av"
    (found,) = [each for each in complete(text, len(text), known(TEXT)) if each.label == "avg"]
    assert (found.detail, found.insert, found.start) == (
        "(value number) → double",
        "avg(",
        len(text) - 2,
    )


def test_hover_and_definition() -> None:
    """A stream shows its attributes and leads to what makes it; a function its signature."""
    found, at = known(TEXT), TEXT.index("RoomMean[")
    told, built_in = hover(TEXT, at, found), hover(TEXT, TEXT.index("avg("), found)
    assert told is not None
    assert "mean double" in told.text
    assert built_in is not None
    assert built_in.text.startswith("avg(value number) → double")
    place = definition(TEXT, at)
    assert place is not None
    assert TEXT.splitlines()[place.line - 1][place.column - 1 :] == "RoomMean;"


def test_a_name_is_found_everywhere_and_an_attribute_nowhere() -> None:
    """A rename reaches each place of a stream; strings, comments and built-ins keep theirs."""
    text = "define stream time (a int); -- time\nfrom time#window.time(1 sec)\n"
    text += "select 'time' as b insert into O;"
    found = known(text)
    places = occurrences(text, text.index("time"), found)
    assert [(each.line, each.column) for each in places] == [(1, 15), (2, 6)]
    assert occurrences(text, text.index("a int"), found) == []


@pytest.mark.parametrize("chunk", range(4))
def test_format_moves_spaces_only_and_once(chunk: int) -> None:
    """Of every sample and golden each word, string and comment stays; twice is as once."""
    for file in APPS[chunk::4]:
        text = app_of(file.read_text("utf-8"))
        once = formatted(text)
        assert [one.value.rstrip() for one in pieces(text) if one.kind != "space"] == [
            one.value.rstrip() for one in pieces(once) if one.kind != "space"
        ], file
        assert formatted(once) == once, file


def test_format_lays_clauses_out() -> None:
    """Clauses begin lines, what stood on one line and fits stays there, comments stay with it."""
    text = (
        "define stream A(a int,b string);\n\n\n-- why\n@info(name='q') from A [ a>3 ]  select a\n"
        ",b insert into B; -- tail\nfrom A select a insert into C;"
    )
    assert formatted(text) == (
        "define stream A(a int, b string);\n\n-- why\n@info(name='q')\nfrom A [a>3]\nselect a, b\n"
        "insert into B;  -- tail\nfrom A select a insert into C;\n"
    )
