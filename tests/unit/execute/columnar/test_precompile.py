"""After precompiling, no kernel that the columns call is left to be compiled when events come."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from numba import config

from lockstep.execute.columnar import kernels

FOUND = """
import importlib, pkgutil
from lockstep.execute.columnar import kernels
from lockstep.execute.columnar.precompile import precompile
precompile()
for each in pkgutil.iter_modules(kernels.__path__):
    module = importlib.import_module(f"{kernels.__name__}.{each.name}")
    for name, found in vars(module).items():
        if hasattr(found, "signatures") and not found.signatures:
            print(f"{each.name}.{name}")
"""


def test_every_kernel_that_is_called_is_compiled() -> None:
    """A process of its own: in this one others have compiled before. What only kernels call is
    compiled into them."""
    columns = Path(kernels.__file__).parent.parent
    sources = [each for each in columns.rglob("*.py") if each.parent.name != "kernels"]
    words = set(re.findall(r"\w+\.\w+|\w+", "\n".join(each.read_text() for each in sources)))
    done = subprocess.run(
        [sys.executable, "-c", FOUND], capture_output=True, text=True, timeout=170, check=True
    )
    left = [name for name in done.stdout.split() if name in words]
    assert left == []


def test_each_state_of_the_sources_has_a_place_of_its_own() -> None:
    """Numba keeps what it compiled of a kernel whose own file is unchanged, though what it calls
    has changed."""
    assert re.search(r"kernels-[0-9a-f]{16}$", str(vars(config)["CACHE_DIR"]))
