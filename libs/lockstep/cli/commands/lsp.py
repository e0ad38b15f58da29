"""lsp: what editors elsewhere ask, on standard input and output."""

from __future__ import annotations

from lockstep.cli.output import Exit, fail


def lsp() -> None:
    """Serve an editor by the Language Server Protocol on standard input and output."""
    try:
        from lockstep.editing.server import serve
    except ModuleNotFoundError as error:
        fail(f"{error.name} is not installed", Exit.USAGE, hint="pip install 'lockstep[console]'")
    serve()
