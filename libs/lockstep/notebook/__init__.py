"""SiddhiQL in notebooks: `%load_ext lockstep.notebook`, then `%%siddhi` cells (see DESIGN.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """What `%load_ext` calls."""
    from lockstep.notebook.magics import SiddhiMagics

    ipython.register_magics(SiddhiMagics)
