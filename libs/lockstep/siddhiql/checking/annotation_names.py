"""Names and keys of annotations that are nearly right: such a typo would change answers silently.

Inside @source, @sink, @map, @store, @distribution and @purge no other annotations than the known
ones are taken. Elsewhere unknown names and keys stay without effect, as in Siddhi, unless they are
very near to one that has an effect at that place.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from lockstep.siddhiql import ast
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.siddhiql.typing import positioned

_NEAR: Final = 0.8

INSIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "source": ("map", "dist"),
    "sink": ("map", "distribution"),
    "map of source": ("attributes",),
    "map of sink": ("payload",),
    "store": ("cache",),
    "distribution": ("destination",),
    "purge": ("retentionPeriod",),
}
"""All annotations that can stand in another one, by its name in small letters."""

_Known = Mapping[str, tuple[str, ...]]

_QUERY: Final[_Known] = {"info": ("name",), "dist": ("parallel", "execGroup")}
_PURGE: Final = ("enable", "interval", "idle.period")

_STREAM: Final[_Known] = {
    "source": (),
    "sink": (),
    "OnError": ("action",),
    "archive": (),
}
_TABLE: Final[_Known] = {"PrimaryKey": (), "Index": (), "IndexBy": (), "store": (), "archive": ()}
_AGGREGATION: Final[_Known] = {
    "store": (),
    "purge": _PURGE,
    "PartitionById": ("enable",),
    "persistedAggregation": ("enable",),
}
_APP: Final[_Known] = {
    f"app:{name}": keys
    for name, keys in {
        "name": (),
        "playback": (),
        "statistics": ("level", "enable"),
        "compat": (),
        "ha": ("replicas", "standby"),
        "aggTimeZone": (),
        "shardId": (),
        "parallel": (),
        "tasks": (),
        "archive": (),
    }.items()
}
"""By place: the annotations that have an effect there, and their keys where no other check reads
all of them."""

_OF_DEFINITIONS: Final[Mapping[type[ast.Definition], _Known]] = {
    ast.StreamDefinition: _STREAM,
    ast.TableDefinition: _TABLE,
    ast.AggregationDefinition: _AGGREGATION,
}
_OF_STREAMS: Final = ("source", "sink")


def check_annotation_names(tree: ast.App) -> None:
    """Refuses what is nearly an annotation, and @source and @sink where there is no stream."""
    _check(tree.annotations, _APP)
    for definition in tree.definitions:
        annotations = getattr(definition, "annotations", ())
        _check(annotations, _OF_DEFINITIONS.get(type(definition), {}))
        if not isinstance(definition, ast.StreamDefinition):
            _check_streamless(annotations)
    for annotations, known in _of_execution(tree.execution):
        _check(annotations, known)
        _check_streamless(annotations)


def _of_execution(
    items: Iterable[ast.Query | ast.Partition],
) -> Iterator[tuple[tuple[ast.Annotation, ...], _Known]]:
    for item in items:
        if isinstance(item, ast.Partition):
            yield item.annotations, {**_QUERY, "purge": _PURGE}
            yield from _of_execution(item.queries)
        else:
            yield item.annotations, _QUERY


def _check(annotations: Iterable[ast.Annotation], known: _Known) -> None:
    for annotation in annotations:
        near = _near(annotation.name, known)
        if near is not None:
            raise positioned(
                annotation.at,
                f"there is no annotation @{annotation.name}",
                f"did you mean '@{near}'?",
            )
        keys = next((known[one] for one in known if one.lower() == annotation.name.lower()), ())
        for element in annotation.elements:
            near = _near(element.key or "", keys)
            if near is not None:
                raise positioned(
                    annotation.at,
                    f"@{annotation.name} knows no {element.key!r}",
                    f"did you mean {near!r}?",
                )
        _check_inside(annotation, annotation.name.lower())


def _near(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, when this is none of them."""
    folded = {one.lower(): one for one in known}
    if name.lower() in folded:
        return None
    found = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=_NEAR)
    return folded[found[0]] if found else None


def _check_inside(annotation: ast.Annotation, place: str) -> None:
    """All that stands in an annotation which takes certain ones alone."""
    taken = INSIDE.get(place)
    if taken is None:
        return
    for inner in annotation.annotations:
        if inner.name.lower() not in [one.lower() for one in taken]:
            hint = did_you_mean(inner.name, taken)
            if inner.name.lower() in ("attributes", "payload"):
                hint = "a source has @map(…, @attributes(…)), and a sink @map(…, @payload(…))"
            raise positioned(inner.at, f"@{annotation.name} takes no @{inner.name}", hint)
        name = inner.name.lower()
        _check_inside(inner, f"map of {place}" if name == "map" else name)


def _check_streamless(annotations: Iterable[ast.Annotation]) -> None:
    for annotation in annotations:
        if annotation.name.lower() in _OF_STREAMS:
            raise positioned(
                annotation.at,
                f"@{annotation.name} stands in front of no stream",
                "put it in front of: define stream",
            )
