"""After precompiling, no kernel that the columns call is left to be compiled when events come."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from numba import config

import lockstep
from lockstep.columns.compiled import kernel_files

FOUND = """
import importlib
from lockstep.columns.compiled import kernel_modules
from lockstep.execute.columnar.precompile import precompile
precompile()
for module in map(importlib.import_module, kernel_modules()):
    for name, found in vars(module).items():
        if hasattr(found, "signatures") and not found.signatures:
            print(f"{module.__name__}.{name}")
"""


def called() -> set[str]:
    """What modules other than kernels take from those."""
    found: set[str] = set()
    for source in set(Path(lockstep.__file__).parent.rglob("*.py")) - set(kernel_files()):
        tree = ast.parse(source.read_text("utf-8"))
        imported = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        found |= set(imported.values())
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found.add(f"{imported.get(node.value.id)}.{node.attr}")
    return found


@pytest.mark.processes
def test_every_kernel_that_is_called_is_compiled() -> None:
    """A process of its own: in this one others have compiled before. What only kernels call is
    compiled into them."""
    done = subprocess.run(
        [sys.executable, "-c", FOUND], capture_output=True, text=True, timeout=170, check=True
    )
    assert not set(done.stdout.split()) & called()


def test_each_state_of_the_sources_has_a_place_of_its_own() -> None:
    """Numba keeps what it compiled of a kernel whose own file is unchanged, though what it calls
    has changed."""
    assert re.search(r"kernels-[0-9a-f]{16}$", str(vars(config)["CACHE_DIR"]))
