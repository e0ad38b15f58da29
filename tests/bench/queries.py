"""The apps that are measured, each with the throughput it shall reach (events/s, two cores; 0: no
bar)."""

from __future__ import annotations

from dataclasses import dataclass

TRADES = "@app:playback define stream Trade (symbol string, price double, volume long);\n"
QUOTES = "define stream Quote (symbol string, price double, volume long);\n"
LIMITS = "@PrimaryKey('symbol') define table Limit (symbol string, ceiling double);\n"


@dataclass(frozen=True, slots=True)
class Bench:
    """An app; `two_streams`: every other record is of Quote. `limits`: the table is filled
    first. `record_events`: of one record."""

    name: str
    text: str
    bar: float
    two_streams: bool = False
    limits: bool = False
    record_events: int = 20_000


_SUMMED = "select symbol, avg(price) as a, sum(volume) as v, count() as c group by symbol"


def summed_over(window: str) -> str:
    """Grouped running aggregates over a window."""
    return f"{TRADES}from Trade#window.{window} {_SUMMED} insert into Out;"


_JOINED = (
    f"{TRADES}{QUOTES}from Trade#window.time(20 milliseconds) as t"
    " join Quote#window.time(20 milliseconds) as q on t.symbol == q.symbol"
    " select t.symbol as symbol, t.price as traded, q.price as quoted insert into Out;"
)
BENCHES = (
    Bench(
        "filter + project",
        f"{TRADES}from Trade[price > 50.0] select symbol, price * volume as value, volume"
        " insert into Out;",
        2.4e6,
    ),
    Bench("timeBatch(1 s) avg sum count group by", summed_over("timeBatch(1 sec)"), 2.4e6),
    Bench("time(1 min) avg sum count group by", summed_over("time(1 min)"), 2.0e6),
    Bench(
        "time(1 min) min max group by",
        f"{TRADES}from Trade#window.time(1 min) select symbol, min(price) as low,"
        " max(price) as high group by symbol insert into Out;",
        1.5e6,
    ),
    Bench(
        "length(1000) avg",
        f"{TRADES}from Trade#window.length(1000) select symbol, avg(price) as a insert into Out;",
        2.0e6,
    ),
    Bench(
        "every a -> b within 1 sec, by symbol",
        f"{TRADES}partition with (symbol of Trade) begin"
        " from every a=Trade[price > 80.0] -> b=Trade[price < a.price * 0.5] within 1 sec"
        " select a.symbol as symbol, a.price as high, b.price as low insert into Out; end;",
        1.0e6,
    ),
    Bench(
        "every a -> b of one symbol within 10 sec",
        f"{TRADES}{QUOTES}from every a=Trade[price > 80.0] -> b=Quote[symbol == a.symbol"
        " and volume == a.volume] within 10 sec"
        " select a.symbol as symbol, a.price as high, b.price as low insert into Out;",
        0.5e6,
        two_streams=True,
    ),
    Bench("window equi-join", _JOINED, 0.3e6, two_streams=True),
    Bench(
        "window equi-join, by turns of 1,000", _JOINED, 0.3e6, two_streams=True, record_events=1_000
    ),
    Bench(
        "table lookup join",
        f"{TRADES}{QUOTES}{LIMITS}"
        "from Quote select symbol, price as ceiling"
        " update or insert into Limit on Limit.symbol == symbol;"
        " from Trade join Limit on Trade.symbol == Limit.symbol"
        " select Trade.symbol as symbol, Trade.price as price, Limit.ceiling as ceiling"
        " insert into Out;",
        1.5e6,
        limits=True,
    ),
    *(
        Bench(name, f"{TRADES}partition with (symbol of Trade) begin {query}; end;", 0.0)
        for name, query in (
            (
                "every a<2:5> -> b, by symbol",
                "from every a=Trade[price > 80.0]<2:5> -> b=Trade[price < a[last].price * 0.5]"
                " within 1 sec select a[0].symbol as symbol, a[last].price as high,"
                " b.price as low insert into Out",
            ),
            (
                "every (a and b) -> c, by symbol",
                "from every (a=Trade[price > 90.0] and b=Trade[price < 10.0])"
                " -> c=Trade[price > a.price] within 1 sec"
                " select a.symbol as symbol, b.price as low, c.price as high insert into Out",
            ),
            (
                "every a, b+, c, by symbol",
                "from every a=Trade, b=Trade[price > a.price]+, c=Trade[price < b[last].price]"
                " select a.symbol as symbol, b[last].price as top, c.price as low insert into Out",
            ),
        )
    ),
)

GROWTH = (
    ("time(1 sec)", summed_over("time(1 sec)")),
    ("time(10 min)", summed_over("time(10 min)")),
)

CHAIN = TRADES + " ".join(
    (
        "from Trade[price > 1.0] select symbol, price, volume insert into A;",
        "from A select symbol, price * 1.1 as price, volume insert into B;",
        "from B#window.length(100) select symbol, avg(price) as price, sum(volume) as volume"
        " group by symbol insert into C;",
        "from C[volume > 0] select symbol, price, volume insert into D;",
        "from D#window.time(10 sec) select symbol, max(price) as price insert into Out;",
    )
)
"""Five chained queries, for the latency of a small slice."""
