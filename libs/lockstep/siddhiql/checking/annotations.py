"""Annotations looked up by name: once each, no key twice, switches that are true or false."""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.siddhiql import ast
from lockstep.siddhiql.typing import positioned

_MAX_DIGITS = 18


def single(annotations: Iterable[ast.Annotation], name: str) -> ast.Annotation | None:
    """The annotation of that name (compared without case) or None; two of them are an error."""
    found: ast.Annotation | None = None
    for annotation in annotations:
        if annotation.name.lower() != name:
            continue
        if found is not None:
            raise positioned(annotation.at, f"@{annotation.name} stands twice", "keep one of them")
        found = annotation
    if found is not None:
        _keys_once(found)
    return found


def _keys_once(annotation: ast.Annotation) -> None:
    seen: set[str] = set()
    for element in annotation.elements:
        key = (element.key or "").lower()
        if key and key in seen:
            raise positioned(
                annotation.at, f"@{annotation.name} gives {element.key!r} twice", "keep one of them"
            )
        seen.add(key)


def switch(annotation: ast.Annotation, key: str) -> bool | None:
    """The value of a true/false element, or None when it is not given."""
    text = annotation.get(key)
    if text is None:
        return None
    if text.strip().lower() not in ("true", "false"):
        raise positioned(
            annotation.at,
            f"@{annotation.name}: {key!r} is {text!r}",
            "write 'true' or 'false'",
        )
    return text.strip().lower() == "true"


def positive(annotation: ast.Annotation, key: str) -> None:
    """The element, if it is given, is a whole number from 1 on."""
    text = annotation.get(key)
    if text is not None and not (text.strip().isdecimal() and int(text[:_MAX_DIGITS]) > 0):
        raise positioned(
            annotation.at,
            f"@{annotation.name}: {key!r} must be a positive number, not {text!r}",
            "write a whole number from 1 on",
        )


def check_distribution(annotations: Iterable[ast.Annotation]) -> None:
    """@dist of a query, a partition or a source."""
    found = single(annotations, "dist")
    if found is not None:
        positive(found, "parallel")


def info_name(annotations: Iterable[ast.Annotation]) -> str | None:
    """The name that @info gives to a query or partition."""
    found = single(annotations, "info")
    if found is None:
        return None
    return found.get("name") or next(iter(found.positional), None)
