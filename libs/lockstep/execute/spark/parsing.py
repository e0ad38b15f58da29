"""Spark's own parser over queries, without a Spark session: a JVM, and its classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkConf

from lockstep.execute.spark.gateway import launched

_PLACE: Final = re.compile(r"\(line (\d+), pos (\d+)\)")
_PARSER: Final = "CatalystSqlParser$"
_MEMORY: Final = "256m"


@dataclass(frozen=True, slots=True)
class Misread:
    """Where Spark does not understand a text, counted from 1, and why."""

    line: int
    column: int
    message: str


def misread(texts: Sequence[str]) -> list[Misread | None]:
    """Of each text: None where it is one query. It starts a JVM, which ends with this process."""
    gateway = launched(SparkConf(loadDefaults=False).set("spark.driver.memory", _MEMORY))
    try:
        package = gateway.jvm.org.apache.spark.sql.catalyst.parser
        parser = getattr(getattr(package, _PARSER), "MODULE$")
        return [_misread(parser, text) for text in texts]
    finally:
        gateway.shutdown()


def _misread(parser: Any, text: str) -> Misread | None:
    try:
        parser.parseQuery(text)
    except Py4JJavaError as error:
        said = str(error.java_exception.getMessage()).strip()
        place = _PLACE.search(said)
        line, column = (int(place[1]), int(place[2]) + 1) if place else (1, 1)
        first = said.splitlines()[0]
        return Misread(line, column, first if place is None else _plain(first))
    return None


def _plain(said: str) -> str:
    """Without the place, and the names of error classes."""
    return re.sub(r"\s*SQLSTATE: \w+|^\[[\w.]+\]\s*", "", _PLACE.sub("", said)).strip()
