"""Keys as expressions on the attributes of a stream: compared, carried through queries, and made so
that they are never null. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.printing import print_node
from lockstep.siddhiql.trees import below

_TEXT: Final = AttributeType.STRING
_OF_THE_MOMENT: Final = ("currentTimeMillis", "eventTimestamp")


def attribute(name: str) -> ast.Variable:
    """An attribute of the stream itself as a key."""
    return ast.Variable(name)


def text_of(expression: ast.Expression) -> str:
    """By which keys are compared."""
    return print_node(expression)


def plain(tree: Any) -> Any:
    """An expression without the names of streams in front of its attributes."""
    if isinstance(tree, ast.Variable):
        return ast.Variable(tree.name)
    if is_dataclass(tree) and not isinstance(tree, type):
        changed = {
            field.name: plain(getattr(tree, field.name)) for field in fields(tree) if field.init
        }
        return replace(tree, **changed)
    if isinstance(tree, tuple):
        return tuple(map(plain, tree))
    return tree


def attributes_of(tree: Any) -> set[str]:
    """The names of the attributes in an expression."""
    return {one.name for one in below(tree) if isinstance(one, ast.Variable)}


def is_pure(tree: Any) -> bool:
    """Whether an expression says the same of an event wherever and whenever it is asked."""
    return not any(
        isinstance(one, ast.InTable | ast.EventReference)
        or (isinstance(one, ast.FunctionCall) and not _is_pure_call(one))
        for one in below(tree)
    )


def remembers(tree: Any) -> bool:
    """Whether a function in it goes by the calls before: draws are counted, filters have a
    state."""
    return any(isinstance(one, ast.FunctionCall) and _remembers(one) for one in below(tree))


def _remembers(call: ast.FunctionCall) -> bool:
    found = default_catalogue().find(ExtensionKind.FUNCTION, call.namespace, call.name)
    return found is not None and found.remembers


def _is_pure_call(call: ast.FunctionCall) -> bool:
    if call.namespace == "time" or _remembers(call):
        return False
    return call.namespace is not None or call.name not in _OF_THE_MOMENT


def substituted(
    key: ast.Expression, selected: Mapping[str, ast.Expression | None]
) -> ast.Expression | None:
    """The key of a query's rows as one of what it reads, None where that cannot be said."""
    if any(selected.get(name) is None for name in attributes_of(key)):
        return None
    found: ast.Expression = _replaced(key, selected)
    return found if is_pure(found) else None


def _replaced(tree: Any, by: Mapping[str, ast.Expression | None]) -> Any:
    if isinstance(tree, ast.Variable):
        return by[tree.name]
    if is_dataclass(tree) and not isinstance(tree, type):
        changed = {
            field.name: _replaced(getattr(tree, field.name), by)
            for field in fields(tree)
            if field.init
        }
        return replace(tree, **changed)
    if isinstance(tree, tuple):
        return tuple(_replaced(one, by) for one in tree)
    return tree


def carried(
    keys: Iterable[ast.Expression], selected: Iterable[tuple[str, ast.Expression]]
) -> Iterator[ast.Expression]:
    """The keys of what is read, as they stand in the rows: `selected` are their names with what
    they are computed from, without the names of streams."""
    pairs = list(selected)
    renamed: dict[str, ast.Expression | None] = {}
    for name, expression in pairs:
        if isinstance(expression, ast.Variable):
            renamed.setdefault(expression.name, attribute(name))
    for key in keys:
        whole = text_of(key)
        yield from (attribute(name) for name, each in pairs if text_of(each) == whole)
        if not isinstance(key, ast.Variable) and attributes_of(key):
            through = substituted(key, renamed)
            if through is not None:
                yield through


def never_null(key: ast.Expression, type_: AttributeType) -> ast.Expression:
    """The key's text, and the text `null` for null: as `group by` has it."""
    text = key
    if type_ is not _TEXT:
        text = ast.FunctionCall("convert", (key, ast.Constant("string", _TEXT)))
    return ast.FunctionCall("default", (text, ast.Constant("null", _TEXT)))


def conjuncts(condition: ast.Expression | None) -> Iterator[ast.Expression]:
    """What must all be true."""
    if isinstance(condition, ast.And):
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    elif condition is not None:
        yield condition


def both(left: ast.Expression | None, right: ast.Expression | None) -> ast.Expression | None:
    """Two conditions, each of which may be none."""
    if left is None or right is None:
        return right if left is None else left
    return ast.And(left, right)
