"""How kernels are compiled, and how arrays are made ready for them.

A kernel is a loop over events that no array operation can say, compiled by Numba and cached on
disk. It takes writeable, contiguous arrays of exact types (`plain` makes them so), so that each is
compiled once; arrays that belong together come as a named tuple. Kernels stand in modules named
`kernel` or `…_kernel`.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np


def kernel_files() -> list[Path]:
    """The sources of all kernels."""
    return sorted(Path(__file__).parent.parent.rglob("*kernel.py"))


def kernel_modules() -> list[str]:
    """The names of the modules that hold kernels."""
    top = Path(__file__).parents[2]
    return [".".join(each.relative_to(top).with_suffix("").parts) for each in kernel_files()]


def _kept_in() -> str:
    """The directory of compiled kernels, one per state of all their sources: Numba itself looks at
    a kernel's own file only, and would go on with what it compiled of a file that this one calls.

    Beside the sources, else per user, else for this machine's life.
    """
    here = Path(__file__).parent
    sources = b"".join(each.read_bytes() for each in [Path(__file__), *kernel_files()])
    name = f"kernels-{hashlib.sha256(sources).hexdigest()[:16]}"
    user = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "lockstep"
    for parent in (here / "__pycache__", user):
        try:
            (parent / name).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=parent / name).close()
        except OSError:
            continue
        return str(parent / name)
    return str(Path(tempfile.gettempdir()) / f"lockstep-{os.getuid()}" / name)


_settings = vars(numba.config)
if not _settings["CACHE_DIR"]:  # whoever says NUMBA_CACHE_DIR means it
    _settings["CACHE_DIR"] = _kept_in()


def kernel(function: Callable[..., Any]) -> Any:
    """Compiles a loop; the compiled form is kept on disk."""
    return numba.njit(cache=True, nogil=True)(function)


_LENT: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}
_INSIDE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def lent(function: Callable[..., Any]) -> Any:
    """Compiles a loop that makes no arrays. Those it is lent live longer than it runs, so nobody
    counts references to them: with arrays in tuples that would take most of the time."""
    return numba.njit(**_LENT)(function)


def part(function: Callable[..., Any]) -> Any:
    """Compiles what only kernels call, and what makes no arrays: nothing is made ready for calls
    from Python, which takes most of the time for small functions."""
    return numba.njit(**_LENT, **_INSIDE)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """The same, put where it is called: worth it where a tuple of many arrays is handed on for each
    event, since each array takes a dozen numbers to hand on."""
    return numba.njit(inline="always", **_LENT, **_INSIDE)(function)


def plain(values: Any, dtype: Any) -> Any:
    """The values as a writeable, contiguous array of that type; copied only when they are not."""
    found = np.ascontiguousarray(values, dtype)
    return found if found.flags.writeable else found.copy()
