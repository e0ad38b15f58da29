"""Annotations of the app (grammar 4.1): known ones are checked, others mean nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from lockstep.siddhiql import ast
from lockstep.siddhiql.checking.annotations import positive, single
from lockstep.siddhiql.checking.archiving import ARCHIVE, check_archive
from lockstep.siddhiql.durations import annotation_ms
from lockstep.siddhiql.typing import positioned
from lockstep.siddhiql.zone_names import REGION_HINT, region

_ONCE = (
    "name",
    "playback",
    "statistics",
    "enforceorder",
    "compat",
    "ha",
    "aggtimezone",
    "shardid",
    "parallel",
    "tasks",
    ARCHIVE,
)
_LEVEL_KEYS = ("level", "enable")
_LEVELS = {"OFF": "OFF", "FALSE": "OFF", "BASIC": "BASIC", "TRUE": "BASIC", "DETAIL": "DETAIL"}
_PLAYBACK = ("idle.time", "increment")

STANDBY = ("hot", "warm")
"""What a standby replica may be (@app:ha)."""

MOST_PARTITIONS = 128
"""Into how many partitions an app can be cut: keys belong to so many groups."""

MOST_TASKS = 128
"""How many of a processor's Spark tasks an app can ask for."""

_NUMBERS = {"parallel": ("partitions", MOST_PARTITIONS), "tasks": ("Spark tasks", MOST_TASKS)}
"""Annotations whose one value is a number: of what, and the largest."""

MAX_NAME_BYTES: Final = 200
"""Of an app's name as the bus writes it: a letter outside of ASCII takes 6 to 12."""

COMPATIBLE = ("siddhi-5.1",)
"""What @app:compat can ask for."""


def check_app_annotations(annotations: tuple[ast.Annotation, ...]) -> dict[str, ast.Annotation]:
    """The app's annotations by name without `app:`, in lower case."""
    known: dict[str, ast.Annotation] = {}
    for name in _ONCE:
        single(annotations, f"app:{name}")
    for annotation in annotations:
        name = annotation.name.split(":", 1)[1].lower()
        match name:
            case "name":
                _name(annotation)
            case "async":
                raise positioned(
                    annotation.at,
                    "@app:async is not allowed",
                    "put @async(buffer.size='1024') in front of single streams",
                )
            case "playback":
                _playback(annotation)
            case "compat":
                _compat(annotation)
            case "ha":
                _availability(annotation)
            case "aggtimezone":
                _time_zone(annotation)
            case "shardid":
                value_of(annotation)
            case "parallel" | "tasks":
                _number(name, annotation)
            case "archive":
                check_archive(annotation)
        known.setdefault(name, annotation)
    return known


def _name(annotation: ast.Annotation) -> None:
    """No service could take an app of a longer one, so no running app is refused."""
    size = sum(len(quote(one.value, safe="").replace(".", "%2E")) for one in annotation.elements)
    if size > MAX_NAME_BYTES:
        raise positioned(
            annotation.at,
            f"the app's name takes {size} bytes on the bus; {MAX_NAME_BYTES} are possible",
            "choose a shorter one: a letter outside of ASCII takes 6 to 12 bytes",
        )


def _playback(annotation: ast.Annotation) -> None:
    for element in annotation.elements:
        if element.key is not None and element.key.lower() not in _PLAYBACK:
            raise positioned(
                annotation.at,
                f"@app:playback knows no {element.key!r}",
                f"there is {' and '.join(_PLAYBACK)}",
            )
    idle_ms = annotation_ms(annotation, "idle.time")
    increment_ms = annotation_ms(annotation, "increment")
    if (idle_ms is None) != (increment_ms is None):
        raise positioned(
            annotation.at,
            "@app:playback needs both 'idle.time' and 'increment', or none of them",
            "idle.time='100 millisec', increment='2 sec'",
        )


def _availability(annotation: ast.Annotation) -> None:
    positive(annotation, "replicas")
    standby = annotation.get("standby")
    if standby is not None and standby.lower() not in STANDBY:
        raise positioned(
            annotation.at,
            f"@app:ha knows no standby {standby!r}",
            f"there is {' and '.join(STANDBY)}",
        )


def statistics_of(annotations: Mapping[str, ast.Annotation]) -> str | None:
    """What @app:statistics of a checked app asks for: OFF, BASIC or DETAIL; None: nothing."""
    asked = annotations.get("statistics")
    if asked is None:
        return None
    said = [e.value.upper() for e in asked.elements if (e.key or "level").lower() in _LEVEL_KEYS]
    return next((_LEVELS[value] for value in said if value in _LEVELS), "BASIC")


def parallel_of(annotations: Mapping[str, ast.Annotation]) -> int | None:
    """Into how many partitions a checked app asks to be cut, if it does."""
    return _number_of(annotations, "parallel")


def tasks_of(annotations: Mapping[str, ast.Annotation]) -> int | None:
    """In how many of a processor's Spark tasks at a time a checked app asks to run, if it does."""
    return _number_of(annotations, "tasks")


def _number_of(annotations: Mapping[str, ast.Annotation], name: str) -> int | None:
    asked = annotations.get(name)
    return None if asked is None else _number(name, asked)


def _number(name: str, annotation: ast.Annotation) -> int:
    what, most = _NUMBERS[name]
    text = value_of(annotation)
    # Python reads no number of thousands of digits.
    if not (text.isdecimal() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise positioned(
            annotation.at,
            f"@app:{name} must be a number of {what}, not {text!r}",
            f"write a whole number from 1 to {most}",
        )
    return int(text)


def value_of(annotation: ast.Annotation) -> str:
    """The one value of an annotation such as @app:shardId('a')."""
    value = next((element.value for element in annotation.elements), "").strip()
    if not value:
        raise positioned(annotation.at, f"@{annotation.name} is empty", f"@{annotation.name}('…')")
    return value


def _time_zone(annotation: ast.Annotation) -> None:
    name = value_of(annotation)
    if region(name) is None:
        raise positioned(annotation.at, f"there is no time zone {name!r}", REGION_HINT)


def _compat(annotation: ast.Annotation) -> None:
    if not annotation.elements:
        raise positioned(
            annotation.at, "@app:compat does not say with what", f"there is {', '.join(COMPATIBLE)}"
        )
    for element in annotation.elements:
        if element.value not in COMPATIBLE:
            raise positioned(
                annotation.at,
                f"@app:compat knows no {element.value!r}",
                f"there is {', '.join(COMPATIBLE)}",
            )
