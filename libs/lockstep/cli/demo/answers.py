"""The flights' answers worked out a second time, by plain SQL over the whole file in SQLite.

Nothing here knows of streams, windows or slices: it is the independent witness of the demo. Rows of
equal time count in file order, as they were sent.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from lockstep.cli.demo.flights import DEPARTURE_COLUMNS, WEATHER_COLUMNS, Flights

Row = tuple[Any, ...]

# A departure is inside the one-hour window of another while less than an hour lies between them
# (semantics 7.3): everything up to this row, less everything an hour old or older.
HOURLY_DELAY = """
select ts, origin, cast(total - coalesce(gone, 0) as real) / (n - gone_n) as mean_delay,
       n - gone_n as departures
from (select seq, ts, origin,
             sum(dep_delay) over upto as total, count(*) over upto as n,
             sum(dep_delay) over before as gone, count(*) over before as gone_n
      from departure where dep_delay is not null
      window upto as (partition by origin order by seq rows unbounded preceding),
             before as (partition by origin order by ts
                        range between unbounded preceding and 3600000 preceding))
order by seq
"""

CARRIER_ALERT = """
select ts, carrier, late, worst_delay
from (select d.seq, d.ts, d.carrier, count(*) as late, max(e.dep_delay) as worst_delay
      from late_departure d join late_departure e
        on e.carrier = d.carrier and e.seq <= d.seq and e.ts > d.ts - 1800000
      group by d.seq, d.ts, d.carrier)
where late >= 3
order by seq
"""

DELAY_WEATHER = """
select d.ts, d.origin, d.carrier, d.flight, d.dep_delay, w.temp, w.wind_speed, w.visib
from late_departure d
join weather w on w.origin = d.origin
 and w.seq = (select max(x.seq) from weather x where x.origin = d.origin and x.ts <= d.ts)
order by d.seq
"""

ORIGIN_TODAY = """
select d.origin, d.day, count(*) as flights, count(d.dep_delay) as departed,
       max(d.dep_delay) as worst_delay, avg(d.dep_delay) as mean_delay
from departure d
join (select origin, day, row_number() over (partition by origin order by seq desc) as back
      from departure) last
  on last.back = 1 and last.origin = d.origin and last.day = d.day
group by d.origin, d.day
order by d.origin
"""


def expected_answers(
    flights: Flights, more: Mapping[str, str] | None = None
) -> dict[str, list[Row]]:
    """Rows by output name; streams lead with the event time in ms, tables do not. `more`: SQL for
    other outputs, by name, over the same tables."""
    connection = sqlite3.connect(":memory:")
    try:
        _fill(connection, flights)
        return {
            "HourlyDelay": connection.execute(HOURLY_DELAY).fetchall(),
            "CarrierAlert": connection.execute(CARRIER_ALERT).fetchall(),
            "DelayWeather": connection.execute(DELAY_WEATHER).fetchall(),
            "OriginToday": connection.execute(ORIGIN_TODAY).fetchall(),
            **{name: connection.execute(sql).fetchall() for name, sql in (more or {}).items()},
        }
    finally:
        connection.close()


def _fill(connection: sqlite3.Connection, flights: Flights) -> None:
    for name, table, columns in (
        ("departure", flights.departures, DEPARTURE_COLUMNS),
        ("weather", flights.weather, WEATHER_COLUMNS),
    ):
        listed = ", ".join(columns)
        connection.execute(f"create table {name} (seq integer primary key, ts integer, {listed})")
        data = [table["ts"].to_pylist(), *(table[c].to_pylist() for c in columns)]
        marks = ", ".join("?" * (len(columns) + 2))
        rows = zip(range(table.num_rows), *data, strict=True)
        connection.executemany(f"insert into {name} values ({marks})", rows)  # noqa: S608
    connection.execute(
        "create table late_departure as select * from departure where dep_delay > 60"
    )
    connection.execute("create index late_by_carrier on late_departure (carrier, ts, seq)")
    connection.execute("create index weather_by_origin on weather (origin, ts, seq)")


def mismatches(expected: list[Row], actual: list[Row]) -> list[str]:
    """Differences row by row, as sentences; floating values within 1e-9 of each other are equal."""
    found = [
        f"row {i}: expected {e}, got {a}"
        for i, (e, a) in enumerate(zip(expected, actual, strict=False))
        if e != a and not _equal(e, a)
    ]
    if len(expected) != len(actual):
        found.append(f"expected {len(expected)} rows, got {len(actual)}")
    return found


def _equal(expected: Row, actual: Row) -> bool:
    return len(expected) == len(actual) and all(
        abs(e - a) <= 1e-9 * max(1.0, abs(e))
        if isinstance(e, float) and isinstance(a, float)
        else e == a
        for e, a in zip(expected, actual, strict=True)
    )
