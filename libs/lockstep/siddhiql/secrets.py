"""`${secret:name}` in app texts: which connectors refer to secrets, and that nothing else does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from lockstep.secrets import filled, names_in, problem_in
from lockstep.siddhiql import ast
from lockstep.siddhiql.trees import below
from lockstep.siddhiql.typing import positioned

CONNECTORS: Final = ("source", "sink", "store")


def secret_names(annotation: ast.Annotation) -> frozenset[str]:
    """The secrets that an annotation refers to, and those that stand in it."""
    return frozenset(
        name
        for one in below(annotation)
        if isinstance(one, ast.Element)
        for name in names_in(one.value)
    )


def with_secrets(annotation: ast.Annotation, value: Callable[[str], str]) -> ast.Annotation:
    """The annotation with values in the place of references; to open a connector with, and for
    nothing else."""
    return replace(
        annotation,
        elements=tuple(replace(one, value=filled(one.value, value)) for one in annotation.elements),
        annotations=tuple(with_secrets(one, value) for one in annotation.annotations),
    )


def check_secrets(tree: ast.App) -> None:
    """References are well formed and stand in connectors alone; SiddhiQLError."""
    for at, text in _texts(tree, ast.NOWHERE):
        problem = problem_in(text)
        if problem is not None:
            raise positioned(at, f"{text!r} refers to a secret wrongly", problem)
    for at, text in _texts(tree, ast.NOWHERE, outside=True):
        if names_in(text):
            raise positioned(
                at, "a secret stands where everybody could read it",
                "secrets may stand in the options of @source, @sink and @store alone",
            )  # fmt: skip


def _texts(
    tree: Any, at: ast.Location, *, outside: bool = False
) -> Iterator[tuple[ast.Location, str]]:
    """Each text of a tree and where it stands; `outside`: but those of connectors."""
    if outside and isinstance(tree, ast.Annotation) and tree.name.lower() in CONNECTORS:
        return
    at = getattr(tree, "at", at)
    if isinstance(tree, ast.Element):
        yield at, tree.value
    elif isinstance(tree, ast.Constant):
        if isinstance(tree.value, str):
            yield at, tree.value
    elif isinstance(tree, (tuple, list)):
        for each in tree:
            yield from _texts(each, at, outside=outside)
    elif hasattr(tree, "__dataclass_fields__"):
        for name in tree.__dataclass_fields__:
            yield from _texts(getattr(tree, name), at, outside=outside)
