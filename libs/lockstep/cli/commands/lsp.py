"""lsp: what editors elsewhere ask, on standard input and output."""

from __future__ import annotations

from lockstep.cli.output import Exit, fail
from lockstep.events.packages import to_install

_MISSING: str | None = None
try:
    from lockstep.editing import server
except ModuleNotFoundError as error:  # of an extra; this module is loaded when `lsp` is called
    _MISSING = error.name


def lsp() -> None:
    """Serve an editor by the Language Server Protocol on standard input and output."""
    if _MISSING is not None:
        fail(f"{_MISSING} is not installed", Exit.USAGE, hint=to_install("console"))
    server.serve()
