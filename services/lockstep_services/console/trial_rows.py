"""What the streams of a text under trial have carried, a table each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lockstep_services.console import figures
from lockstep_services.console.look import Cell, Table, box, card, chip, text

SHOWN_ROWS: Final = 50


class Carried:
    """The newest rows of each stream."""

    def __init__(self) -> None:
        self._holder = box("stack")
        self.clear({})

    def clear(self, schemas: Mapping[str, Sequence[Sequence[str]]]) -> None:
        """Nothing yet, of another text."""
        self._schemas = schemas
        self._rows: dict[str, list[Sequence[Any]]] = {}
        self._counts: dict[str, int] = {}
        self._tables: dict[str, tuple[Table, Any]] = {}
        self._holder.clear()

    def add(self, streams: Mapping[str, Sequence[Sequence[Any]]]) -> None:
        """Rows that came."""
        for name, rows in sorted(streams.items(), key=lambda one: self._place(one[0])):
            kept = self._rows.setdefault(name, [])
            self._counts[name] = self._counts.get(name, 0) + len(rows)
            kept += rows
            del kept[:-SHOWN_ROWS]
            self._table(name)

    def _place(self, name: str) -> int:
        """As in the text; the tables stand in the order in which streams first carried rows."""
        names = list(self._schemas)
        return names.index(name) if name in names else len(names)

    def _table(self, name: str) -> None:
        if name not in self._tables:
            width = len(self._rows[name][0]) - 1
            known = self._schemas.get(name)
            columns = [one[0] for one in known] if known else [str(n + 1) for n in range(width)]
            with self._holder, card(classes="flush dense"):
                with box("card-head"):
                    text("h2", name)
                    count = chip("", "calm")
                self._tables[name] = (Table(["Time", *columns], empty=""), count)
        table, count = self._tables[name]
        count.set_text(f"{figures.count(self._counts[name])} rows")
        table.show(
            [
                [Cell(figures.duration(row[0]), "soft"), *(figures.value(one) for one in row[1:])]
                for row in reversed(self._rows[name])
            ]
        )
