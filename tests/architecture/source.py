"""The project's own source, parsed once, for the tests that look after its shape."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file; `path` is relative to the root, with forward slashes."""

    path: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """Length of the file."""
        return len(self.text.splitlines())


@cache
def modules(*folders: str) -> tuple[Module, ...]:
    """All Python files below `folders`, sorted by path."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return tuple(_module(path) for path in paths)


def product() -> tuple[Module, ...]:
    """What is shipped."""
    return modules("libs", "services")


def names(tree: ast.AST) -> list[tuple[str, ast.AST]]:
    """Every class and function below `tree` with its dotted name."""
    found: list[tuple[str, ast.AST]] = []

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                found.append((name, child))
                walk(child, f"{name}.")
            else:
                walk(child, prefix)

    walk(tree, "")
    return found


def dotted(node: ast.AST) -> str:
    """`a.b.c` for a chain of names, else an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def _module(path: Path) -> Module:
    text = path.read_text("utf-8")
    return Module(path.relative_to(ROOT).as_posix(), text, ast.parse(text, filename=str(path)))
