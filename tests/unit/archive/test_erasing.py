"""Rows erased out of all that the archive has of an app, and results that are over age."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lockstep.archive.erasing import erase, has_anything
from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import OUTPUT, Logs
from lockstep.archive.others import expire_backtests, expire_pasts, result_sides
from lockstep.archive.place import Place
from lockstep.archive.tables import ConditionError, NoSuchColumnError, Table
from lockstep.events import UnavailableError

DAY_MS = 86_400_000
PAST = "_past/App.1000.1"
RUN = "_backtests/2000-ab"


def written(place: Place, app: str, since_ms: int, column: str, *values: str) -> Table:
    """A table of the output stream `S` with a column of that name."""
    side = SideArchive(place, Logs(app, since_ms), OUTPUT)
    count = len(values)
    numbers = pa.array(range(1, count + 1), pa.int64())
    own = {"_sequence": numbers, "_position": numbers, "_ordinal": numbers}
    rows = pa.table({"day": ["1970-01-01"] * count, **own, column: list(values)})
    table = side.table("S", column)
    table.append(rows, side.transaction, count)
    return table


def test_every_place_is_reached_and_one_without_the_column_is_told(tmp_path: Path) -> None:
    """Both lives, a past in its name, a back-test over its input; no other app's."""
    place = Place(str(tmp_path))
    for folder in ("", PAST, RUN):
        written(Place(place.at(folder)) if folder else place, "App", 1, "who", "bob", "ann")
    written(place, "App", 2, "who", "bob")
    written(place, "App", 2, "what", "bob")
    other = written(place, "Other", 1, "who", "bob")
    gone = erase(place, "App", "S", "who = 'bob'")
    assert (gone.rows, gone.tables) == (4, 4)
    assert gone.skipped == ("App/2/output/S/what",)
    assert other.sizes()[0] == 1
    left = [row for side in result_sides(place, "App") for _, table in side.tables()
            for batch in table.scan() for row in batch.column("who").to_pylist()]  # fmt: skip
    assert left == ["ann", "ann"]


def test_a_condition_that_is_none_changes_nothing(tmp_path: Path) -> None:
    """Also where one of the tables could make it out, and another one could not."""
    place = Place(str(tmp_path))
    table = written(place, "App", 1, "who", "bob")
    with pytest.raises(NoSuchColumnError):
        erase(place, "App", "S", "nick = 'bob'")
    with pytest.raises(ConditionError):
        erase(place, "App", "S", "who = ")
    assert table.version() == 1
    assert has_anything(place, "App")
    assert not has_anything(place, "Nobody")


def test_what_a_fold_has_not_finished_is_neither_removed_nor_passed_over(tmp_path: Path) -> None:
    """The rows are gone, the file stays, and whoever erases is told to do it again."""
    place = Place(str(tmp_path))
    table = written(Place(place.at(RUN)), "App", 1, "who", "bob", "ann")
    unfinished = Path(table.address) / "day=1970-01-01" / "part-unfinished.parquet"
    unfinished.write_bytes(b"bob")
    with pytest.raises(UnavailableError, match="1 of their files"):
        erase(place, "App", "S", "who = 'bob'")
    assert unfinished.exists()
    assert table.sizes()[0] == 1
    unfinished.unlink()
    assert erase(place, "App", "S", "who = 'bob'").rows == 0


def test_results_over_age_are_removed(tmp_path: Path) -> None:
    """A past counts from its deployment, a back-test from its begin; other apps' stay."""
    place = Place(str(tmp_path))
    for folder, app in ((PAST, "App"), (RUN, "App"), ("_backtests/2000-cd", "Other")):
        written(Place(place.at(folder)), app, 1, "who", "bob")
    assert expire_pasts(place, "App", lambda _: None, DAY_MS * 9) == 0
    assert expire_pasts(place, "App", lambda _: DAY_MS, DAY_MS) == 0
    assert expire_backtests(place, "App", DAY_MS, DAY_MS) == 0
    assert expire_pasts(place, "App", lambda _: DAY_MS, DAY_MS + 1_001) == 1
    assert expire_backtests(place, "App", DAY_MS, DAY_MS + 2_001) == 1
    assert results(place, "App") == 0
    assert results(place, "Other") == 1


def results(place: Place, app: str) -> int:
    """How many tables of results there are."""
    return sum(1 for side in result_sides(place, app) for _ in side.tables())
