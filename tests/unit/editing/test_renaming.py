"""A rename reaches what is meant by a name, and nothing else that is called so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lockstep.editing import Known, known, occurrences
from lockstep.editing.pointing import refusal
from lockstep.editing.uses import uses
from lockstep.siddhiql import check
from lockstep.testing.scenario import split_tests

ROOT = Path(__file__).parents[3]
APPS = sorted(
    [*ROOT.glob("libs/lockstep/samples/*.siddhi"), *ROOT.glob("tests/golden/*/**/*.siddhi")]
)
EACH = 8
"""All of them take most of a minute."""
ROOM = """define stream Room (k string, Room double);
define stream Other (z double);
define table T (k string, Room double);
@info(name='Room')
from Room as r join Other#window.length(5) as o on r.Room == o.z
select r.Room as Room, o.z as zz
insert into Out;
partition with (k of Room) begin
from Room select k, Room insert into #Room;
from #Room[Room > 1.0] select k, 'Room' as c insert into Out2; -- Room
end;
from every e1=Room[Room > 1.0] -> (not Room[k == e1.k] for 1 sec and e2=Room)
select e1.Room as a, e2.k as b insert into Found;
from Room[Room.Room in T and not (Room < 1.0)] select Room.k, Room.Room update T on T.k == Room.k;
from Other as Room select Room.z insert into Zs;
"""
RENAMED = """define stream Hall (k string, Room double);
define stream Other (z double);
define table T (k string, Room double);
@info(name='Room')
from Hall as r join Other#window.length(5) as o on r.Room == o.z
select r.Room as Room, o.z as zz
insert into Out;
partition with (k of Hall) begin
from Hall select k, Room insert into #Room;
from #Room[Room > 1.0] select k, 'Room' as c insert into Out2; -- Room
end;
from every e1=Hall[Room > 1.0] -> (not Hall[k == e1.k] for 1 sec and e2=Hall)
select e1.Room as a, e2.k as b insert into Found;
from Hall[Hall.Room in T and not (Room < 1.0)] select Hall.k, Hall.Room update T on T.k == Hall.k;
from Other as Room select Room.z insert into Zs;
"""


def renamed(text: str, offsets: Mapping[int, str], found: Known) -> str:
    """The text with other names for what stands at some places."""
    edits = [
        (place, new_name)
        for offset, new_name in offsets.items()
        for place in occurrences(text, offset, found)
    ]
    lines = text.split("\n")
    for place, new_name in sorted(edits, key=lambda edit: -edit[0].column):
        line = lines[place.line - 1]
        lines[place.line - 1] = line[: place.column - 1] + new_name + line[place.end_column - 1 :]
    return "\n".join(lines)


def test_an_attribute_of_the_same_name_keeps_it() -> None:
    """So do aliases, inner streams, strings and comments."""
    found = known(ROOM)
    for offset in (ROOM.index("Room (k"), ROOM.index("Room select k, R"), ROOM.index("Room.k")):
        assert renamed(ROOM, {offset: "Hall"}, found) == RENAMED
    for other in ("Room double", "Room as Room", "Room in T", "Room > 1.0", "Room.z", "Room' as"):
        assert occurrences(ROOM, ROOM.index(other), found) == []


def test_an_app_means_the_same_with_other_names() -> None:
    """Of samples and goldens each stream, table, window, trigger, aggregation and function."""
    for file in APPS[::EACH]:
        text = split_tests(file.read_text("utf-8"))[0]
        found = known(text)
        if found.app is None:
            continue
        places = {use.word.name: use.word.start for use in uses(text, found)}
        other = {
            name: f"Zq{number}"
            for number, name in enumerate([*found.names, *found.functions])
            if not name.startswith("!")
        }
        app = check(renamed(text, {places[name]: new for name, new in other.items()}, found))
        wanted = {
            f"!{other[name[1:]]}" if name.startswith("!") else other[name]: schema.attributes
            for name, schema in found.app.schemas.items()
        }
        assert wanted == {name: one.attributes for name, one in app.schemas.items()}, file


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a b; drop", "is no name"),
        ("", "is no name"),
        ("1a", "is no name"),
        ("from", "is no name"),
        ("`a`b`", "is no name"),
        ("``", "is no name"),
        ("Other", "is taken"),
        ("`Other`", "is taken"),
    ],
)
def test_what_is_no_name_or_taken_is_refused(name: str, why: str) -> None:
    """With the reason; other names are not."""
    found = known(ROOM)
    at = ROOM.index("Room (k")
    assert why in (refusal(ROOM, at, name, found) or "")
    for fine in ("Hall", "`the hall`", "First", "Room"):
        assert refusal(ROOM, at, fine, found) is None
    assert "nothing there" in (refusal(ROOM, ROOM.index("double"), "Hall", found) or "")
    text = "define trigger T at every 1 sec; from T select 1 as a insert into O;"
    assert "is no name" in (refusal(text, text.index("T at"), "First", known(text)) or "")
