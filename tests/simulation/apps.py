"""The apps of the simulation: each with a first version and the ones that may follow it."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any, Final

STREAM: Final = "In"
SYMBOLS: Final = ("aa", "bb", "cc")
WRITTEN: Final = "ww"
"""A symbol that no event bears."""

WRITE: Final = (
    f"select '{WRITTEN}' as symbol, 1L as count, 0.0 as total update or insert into Totals"
    " set Totals.count = Totals.count + 1L on Totals.symbol == symbol"
)

_IN = "@app:name('{app}') define stream In (n long, symbol string, price double);\n"
_SINK = "@sink(type='rdbms', table.name='{table}') "


def _text(app: str, body: str) -> str:
    text = _IN.format(app=app) + body
    return text.replace("SINK", _SINK.format(table="rows"))


@dataclass(frozen=True)
class App:
    """Versions in the order in which they are deployed."""

    name: str
    versions: tuple[str, ...]
    is_warm: bool = False
    write: str | None = None
    """An on-demand query that adds one to what `WRITTEN` stands for in a table."""

    symbols: tuple[str, ...] = SYMBOLS
    keys: tuple[tuple[str, int], ...] = ()
    """Of a fleet: the streams that are cut, and which attribute has the key."""

    def warm(self) -> App:
        """The same with standbys that restore when they are needed."""
        versions = tuple("@app:ha(standby='warm') " + text for text in self.versions)
        return replace(self, versions=versions, is_warm=True)


def _app(name: str, *bodies: str) -> App:
    """A text with a line more is another version that means the same: back, with the state."""
    texts = [_text(name, body) for body in bodies]
    versions = (*texts, *(text + "\n" for text in texts), texts[0] + "\n\n")
    return App(name, versions, write=WRITE if name == "Table" else None)


APPS: Final = tuple(
    _app(name, *bodies)
    for name, bodies in {
        "Filter": (
            "SINK define stream Out (n long, price double);"
            "from In[price > 20.0] select n, price insert into Out;",
            "SINK define stream Out (n long, price double);"
            "from In[price > 50.0] select n, price * 2.0 as price insert into Out;",
        ),
        "Sliding": (
            "SINK define stream Out (n long, symbol string, total double, count long);"
            "from In#window.time(1500) select n, symbol, sum(price) as total, count() as count"
            " group by symbol insert all events into Out;",
            "SINK define stream Out (n long, symbol string, total double, count long);"
            "from In#window.length(5) select n, symbol, sum(price) as total, count() as count"
            " group by symbol insert into Out;",
        ),
        "Tumbling": (
            "SINK define stream Out (symbol string, total double, count long);"
            "from In#window.timeBatch(700) select symbol, sum(price) as total, count() as count"
            " group by symbol insert into Out;",
            "SINK define stream Out (symbol string, total double, count long);"
            "from In[price > 10.0]#window.timeBatch(700) select symbol, sum(price) as total,"
            " count() as count group by symbol insert into Out;",
        ),
        "Pattern": (
            "SINK define stream Out (first long, second long);"
            "from every a=In[price > 50.0] -> b=In[symbol == a.symbol and price < 50.0]"
            " within 3 sec select a.n as first, b.n as second insert into Out;",
            "SINK define stream Out (first long, second long);"
            "from every a=In[price > 60.0] -> b=In[symbol == a.symbol and price < 50.0]"
            " within 3 sec select a.n as first, b.n as second insert into Out;",
        ),
        "Table": (
            "@store(type='rdbms', table.name='totals') @PrimaryKey('symbol')"
            "define table Totals (symbol string, count long, total double);"
            "SINK define stream Out (n long, symbol string);"
            "from In select symbol, count() as count, sum(price) as total group by symbol"
            " update or insert into Totals on Totals.symbol == symbol;"
            "from In join Totals on In.symbol == Totals.symbol and Totals.count > 2L"
            " select In.n as n, In.symbol as symbol insert into Out;",
            # The table and its sums go on, a window begins beside them.
            "@store(type='rdbms', table.name='totals') @PrimaryKey('symbol')"
            "define table Totals (symbol string, count long, total double);"
            "SINK define stream Out (n long, symbol string);"
            "from In#window.time(900) select n, symbol, count() as c group by symbol"
            " having c == 3L insert into Third;"
            "from In select symbol, count() as count, sum(price) as total group by symbol"
            " update or insert into Totals on Totals.symbol == symbol;"
            "from In join Totals on In.symbol == Totals.symbol and Totals.count > 4L"
            " select In.n as n, In.symbol as symbol insert into Out;"
            "from Third select n, symbol insert into Out;",
        ),
        "Aggregation": (
            "define aggregation Sums from In select symbol, sum(price) as total group by symbol"
            " aggregate every sec ... min;"
            "SINK define stream Out (n long, total double);"
            "from In join Sums on In.symbol == Sums.symbol within 0L, 9000000000000L per 'min'"
            " select In.n as n, total insert into Out;",
        ),
    }.items()
)


FLEET_SYMBOLS: Final = ("aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh")


def _fleet(name: str, places: str, *queries: str, table: str = "", **keys: int) -> App:
    """A version of each query text, and of each also one with a line more, which means the same."""
    streams = (
        _IN.format(app=name)
        + table
        + _STREAMS.format(
            places=_SINK.format(table="places") + f"define stream Places ({places})",
            whole=_SINK.format(table="whole") + "define stream Whole",
        )
    )
    versions = tuple(streams + one + _WHOLE + end for one in queries for end in ("", "\n"))
    return App(name, versions, symbols=FLEET_SYMBOLS, keys=tuple(keys.items()))


_STREAMS: Final = (
    "define stream Sums (symbol string, n long, total double, place long);\n{places};\n"
    "{whole} (symbol string, n long, place long, sums double);\n"
    "partition with (symbol of In) begin from In select symbol, n, sum(price) as total,"
    " count() as place insert into Sums; end;\n"
)
_WHOLE: Final = (
    "from Sums#window.length(1000) select symbol, n, count() as place, sum(total) as sums"
    " insert into Whole;\n"
)
FLEETS: Final = (
    # Two groups cut by different keys, the second fed by the first, and one that is whole.
    _fleet(
        "Rekeyed",
        "place long, symbol string, n long, seen long, sums double",
        *(
            f"partition with (place of Sums) begin from Sums#window.length({length})"
            " select place, symbol, n, count() as seen, sum(total) as sums insert into Places;"
            " end;\n"
            for length in (3, 5)
        ),
        Sums=0,
        Places=0,
    ),
    # Timers in a cut group, in front of a channel and behind one.
    _fleet(
        "Timed",
        "place long, symbol string, n long, seen long",
        *(
            f"partition with (symbol of In) begin from In#window.time({span}) select symbol,"
            " n, sum(price) as total, count() as seen insert all events into Latest;"
            " from every a=In[price > 50.0] -> b=In[price < 50.0] within 3 sec"
            " select a.symbol as symbol, a.n as n, b.n as other insert into Falls; end;\n"
            "partition with (place of Sums) begin from Sums#window.time(700) select place, symbol,"
            " n, count() as seen insert all events into Places; end;\n"
            for span in (1500, 900)
        ),
        Sums=0,
        Latest=0,
        Falls=0,
        Places=0,
    ),
)
FLEET_WITH_TABLE: Final = _fleet(
    "Kept",
    "symbol string, n long, seen long, sums double",
    *(
        f"from In[price > {least}.0] left outer join Kept on In.symbol == Kept.symbol"
        " select In.symbol as symbol, coalesce(Kept.seen, 0L) + 1L as seen,"
        " coalesce(Kept.sums, 0.0) + In.price as sums"
        " update or insert into Kept on Kept.symbol == symbol;"
        " from In[price > 90.0] select symbol delete Kept on Kept.symbol == symbol;"
        " from In join Kept on In.symbol == Kept.symbol select In.symbol as symbol,"
        " In.n as n, Kept.seen as seen, Kept.sums as sums insert into Places;\n"
        for least in (5, 20)
    ),
    table="@PrimaryKey('symbol') define table Kept (symbol string, seen long, sums double);\n",
    Sums=0,
    Places=0,
)
"""Its table is cut by its key: the rows move with the keys."""


def event(rng: random.Random, number: int, symbols: tuple[str, ...] = SYMBOLS) -> list[Any]:
    """One event; `n` tells it from all others."""
    return [number, rng.choice(symbols), float(rng.randrange(0, 100))]
