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


def told(text: str) -> list[str]:
    """The places of the problems, as line and what is underlined."""
    lines = text.split("\n")
    return [
        f"{one.line} {lines[one.line - 1][one.column - 1 : one.end_column - 1]}"
        for one in sorted(known(text).problems, key=lambda one: one.line)
    ]


def test_a_mistake_in_an_annotation_hides_nothing() -> None:
    """What it stands in front of is known, and no other problem follows of it."""
    text = "@sink(type='nope', @map(type='json'))\ndefine stream S (k string);\n"
    text += "from S select k insert into O;\nfrom S select zz insert into P;"
    assert told(text) == ["1 @", "4 zz"]
    assert set(known(text).names) == {"S", "O"}
    app = "@app:playback(idle.time='x')\ndefine stream S (v int);\nfrom S select v insert into O;"
    assert told(app) == ["1 @"]
    assert set(known(app).names) == {"S", "O"}


def test_where_no_definition_is_left_nothing_more_is_told() -> None:
    """Nor is a text empty whose statements have mistakes; streams of queries stay known."""
    text = "define stream S (k strin);\nfrom S#window.length(5)\nselect k, count() as n, S.k\n"
    text += "group by k insert into O;"
    assert told(text) == ["1 strin"]
    assert known(text).names["O"].line() == "stream O (k, n, k)"
    assert [told(one) for one in ("from", ";", "define stream S (k string")] == [
        ["1 from"],
        ["1 ;"],
        ["1 string"],
    ]


@pytest.mark.parametrize("end", ["\nend;\n", " end;\n"])
def test_a_mistake_in_a_partition_key_is_one(end: str) -> None:
    """Its end and its inner streams are right; its queries are read, and what they make known."""
    text = "define stream S (k string, v int);\npartition with (zz of S)\nbegin\n"
    text += "from S#window.length(5) select k, v insert into #I;\n"
    text += f"from #I select k, v insert into Out;{end}from Out select v, q insert into Last;"
    found = known(text)
    assert told(text) == ["2 zz", f"{5 + end.count(chr(10))} q"]
    assert found.names["Out"].line() == "stream Out (k string, v int)"
    assert "I" not in found.names


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


@pytest.mark.parametrize("open_", ["-- from ", "-- why", "/* from ", "'a ", "'", '"a ', '"""a '])
def test_nothing_is_completed_in_a_comment_or_a_string(open_: str) -> None:
    """At its end, too, while nothing closes it; behind its end something is."""
    text = TEXT + "from Reading select " + open_
    assert complete(text, len(text), known(TEXT)) == []
    assert complete(f"{text}\n;", len(text), known(TEXT)) == []
    for closed in ("/* a */", "'a'", '"""a"""', "-- a\n"):
        assert labels(TEXT + f"from Reading select {closed}", closed)


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
