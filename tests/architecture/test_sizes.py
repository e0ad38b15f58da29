"""The size ratchet: nothing grows over the limits, and what is over them may only shrink.

`sizes.toml` lists what is over a limit today with its size. Shrink one, lower its number.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

from tests.architecture.source import dotted, modules, names

FUNCTION_LINES = 70
FILE_LINES = 500
CLASS_METHODS = 15

_LIMITS = {"files": FILE_LINES, "functions": FUNCTION_LINES, "classes": CLASS_METHODS}


def _measured() -> dict[str, dict[str, int]]:
    sizes: dict[str, dict[str, int]] = {"files": {}, "functions": {}, "classes": {}}
    for module in modules("libs", "services", "tests"):
        sizes["files"][module.path] = module.lines
        for name, node in names(module.tree):
            key = f"{module.path}:{name}"
            if isinstance(node, ast.ClassDef):
                sizes["classes"][key] = sum(_is_method(each) for each in node.body)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                sizes["functions"][key] = (node.end_lineno or node.lineno) - node.lineno + 1
    return sizes


def _is_method(node: ast.stmt) -> bool:
    """Verbs count; `__special__` methods and properties, which read as attributes, do not."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    special = node.name.startswith("__") and node.name.endswith("__")
    return not special and "property" not in [dotted(each) for each in node.decorator_list]


def _allowed() -> dict[str, dict[str, int]]:
    return tomllib.loads(Path(__file__).with_name("sizes.toml").read_text("utf-8"))


def test_nothing_is_over_its_limit() -> None:
    """A function, file or class over the limit is listed, and no larger than listed."""
    allowed = _allowed()
    over = [
        f"{key}: {size}, allowed {allowed[kind].get(key, _LIMITS[kind])}"
        for kind, sizes in _measured().items()
        for key, size in sizes.items()
        if size > allowed[kind].get(key, _LIMITS[kind])
    ]
    assert not over, "too large (lines, or methods of a class):\n" + "\n".join(over)


def test_the_list_only_shrinks() -> None:
    """What is listed exists, is over the limit still, and is listed with today's size."""
    measured = _measured()
    stale = [
        f"{key}: listed {listed}, is {measured[kind].get(key, 'gone')}"
        for kind, entries in _allowed().items()
        for key, listed in entries.items()
        if measured[kind].get(key) != listed or listed <= _LIMITS[kind]
    ]
    assert not stale, "lower or remove these in sizes.toml:\n" + "\n".join(stale)
