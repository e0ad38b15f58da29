"""Every module that works on columns has a unit test: one that imports it."""

from __future__ import annotations

import ast

from tests.architecture.source import Module, modules

LOCKSTEP = "libs/lockstep/"
COLUMNAR = ("columns/", "execute/columnar/")
ELSEWHERE = ("execute/", "testing/", "cli/")
"""What hands columns on as a whole, and works on none."""
OWED: frozenset[str] = frozenset()
"""Modules that still lack theirs. This list gets shorter, never longer."""


def name_of(module: Module) -> str:
    """As it is imported."""
    return module.path.removeprefix("libs/").removesuffix(".py").replace("/", ".")


def imports(module: Module) -> set[str]:
    """All that it may import: `from a import b` may take the module `a.b`."""
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def is_columnar(module: Module) -> bool:
    """Whether it stands with the columns, or imports them or NumPy."""
    path = module.path.removeprefix(LOCKSTEP)
    if path.startswith(COLUMNAR):
        return True
    works = any(name == "numpy" or name.startswith("lockstep.columns") for name in imports(module))
    return works and not path.startswith(ELSEWHERE)


def is_kernel(module: Module) -> bool:
    """See columns.compiled."""
    return module.path.endswith("kernel.py")


def has_entry(module: Module) -> bool:
    """Whether Python can call something in it: parts of kernels are called by kernels alone."""
    return not is_kernel(module) or "\n@kernel\n" in module.text


def columnar() -> dict[str, Module]:
    """All of them by name."""
    return {
        name_of(each): each
        for each in modules("libs")
        if is_columnar(each) and not each.path.endswith("/__init__.py")
    }


def test_each_is_imported_by_a_unit_test() -> None:
    """Parts of kernels through a kernel that is: nothing else can call them."""
    known = columnar()
    tested = {name for test in modules("tests/unit") for name in imports(test)} & known.keys()
    for name in [name for name in tested if is_kernel(known[name])]:
        parts = imports(known[name]) & known.keys()
        tested |= {part for part in parts if not has_entry(known[part])}
    assert sorted(known.keys() - tested - OWED) == []
    assert sorted(OWED & tested) == []


def test_the_rule_finds_what_it_should() -> None:
    """Columns, kernels, rules and units of concepts; not what the reference does."""
    known = columnar()
    for name in (
        "columns.chunks",
        "joins.columns.kernel",
        "tables.rule",
        "execute.columnar.executor",
    ):
        assert f"lockstep.{name}" in known
    assert "lockstep.tables.meaning.table" not in known
    assert not has_entry(known["lockstep.patterns.columns.node_kernel"])
