"""SiddhiQL in notebooks: `%load_ext lockstep.notebook`, then `%%siddhi` cells (see DESIGN.md)."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell

from lockstep.notebook.magics import SiddhiMagics


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """What `%load_ext` calls."""
    ipython.register_magics(SiddhiMagics)
