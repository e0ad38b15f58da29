"""What reads find of a table whose rows are found by their key alone, and which values they see."""

from __future__ import annotations

from lockstep.columns.column import from_values
from lockstep.columns.pool import StringPool
from lockstep.columns.units import States
from lockstep.plan import plan_of
from lockstep.tables.chains import Chains, Heads
from lockstep.tables.columns import TableUnit
from lockstep.tables.reading import read, scan
from lockstep.tables.store import TableStore
from tests.unit.columns.flows import STRING, longs
from tests.unit.side_by_side import unit_of

TABLE = "define stream R (s string, i int); @PrimaryKey('s') define table T (s string, i int); "
ROWS = [(1, ("a", 1)), (2, ("b", 2)), (3, ("c", 3))]


def loaded(*, by_key: bool) -> TableStore:
    """Three rows."""
    table = TableStore(plan_of(TABLE).checked.schemas["T"], (0,), (), StringPool())
    if by_key:
        table.find_by_key()
    table.load((3, ROWS))
    return table


def test_both_ways_find_the_same() -> None:
    """By key, and of all rows in their order."""
    for table, kind in ((loaded(by_key=True), Heads), (loaded(by_key=False), Chains)):
        assert isinstance(table.rows, kind)
        index = table.index((0,))
        wanted = index.ids([from_values(STRING, ["c", "z", "a"])], create=False)
        reads, places = read(table, index, wanted, longs(0, 0, 0))
        assert reads.tolist() == [0, 2]
        assert table.column(1, places).to_pylist() == [3, 1]
        assert table.store() == (3, ROWS)
    found = scan(loaded(by_key=True), longs(0, 0), None, None)
    assert found is not None
    assert found[0].tolist() == [0, 0, 0, 1, 1, 1]


def test_a_table_by_key_needs_writers_that_find_one_row() -> None:
    """And no further index."""
    upsert = "from R select s, i update or insert into T on T.s == s;"
    other = "from R select s, i delete T on T.i == i;"
    for query, kind in ((upsert, Heads), (upsert + other, Chains)):
        unit = unit_of(TABLE + query, TableUnit)
        unit.load(States({"table/T/rows": (3, ROWS)}))
        assert isinstance(unit.state.rows, kind)
