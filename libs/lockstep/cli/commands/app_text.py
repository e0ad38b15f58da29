"""What the commands that take an app's text share: reading it, and pointing at a mistake in it."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from lockstep.cli.output import Exit, errors, fail
from lockstep.events import Fault, LockstepError
from lockstep.siddhiql import SiddhiQLError
from lockstep.siddhiql.variables import names_of, with_values
from lockstep.testing.scenario import app_of

Files = Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help=".siddhi files.")]
OneFile = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A .siddhi file.")]
Given = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="What ${NAME} stands for; several times."),
]
GivenIn = Annotated[
    Path | None,
    typer.Option(
        "--values", exists=True, dir_okay=False, help="A file with such a NAME=VALUE in each line."
    ),
]
GivenFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--set-file", metavar="NAME=FILE", help="The same with a file's bytes, packed, in base64."
    ),
]
VALUES_MAX: Final = 1_000
FILE_BYTES_MAX: Final = 16 * 1024 * 1024


class NoTextError(LockstepError):
    """A file is none."""

    fault = Fault.USER


def values_of(
    given: Sequence[str] | None, file: Path | None, files: Sequence[str] | None = None
) -> dict[str, str]:
    """What stands for names: of a file, where `#` begins a comment, and of options, which win.
    NoTextError."""
    values: dict[str, str] = {}
    if file is not None:
        for number, line in enumerate(text_of(file).splitlines(), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                values |= _pair(line, f"{file}, line {number}")
    for one in given or ():
        values |= _pair(one, "--set")
    for one in files or ():
        values |= {name: _packed(Path(path)) for name, path in _pair(one, "--set-file").items()}
    if len(values) > VALUES_MAX:
        fail(f"{len(values)} values are given: at most {VALUES_MAX}", Exit.USAGE)
    return values


def _packed(file: Path) -> str:
    """The same text for the same bytes."""
    try:
        content = file.read_bytes()
    except OSError as error:
        fail(f"--set-file: {file}: {error.strerror}", Exit.USAGE)
    if len(content) > FILE_BYTES_MAX:
        fail(f"--set-file: {file} is larger than {FILE_BYTES_MAX} bytes", Exit.USAGE)
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def _pair(text: str, place: str) -> dict[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not names_of(f"${{{name.strip()}}}"):
        fail(f"{place}: {name.strip()[:40]!r} is no NAME=VALUE", Exit.USAGE)
    return {name.strip(): value.strip()}


def read_app(file: Path, values: Mapping[str, str] | None = None) -> str:
    """The app in a file with the values of its names, without the tests behind it. NoTextError."""
    return with_values(app_of(text_of(file)), values or {})


def text_of(file: Path, newline: str | None = None) -> str:
    """Without the mark at the beginning that editors on Windows write. `newline`: "" keeps the line
    ends that it has. NoTextError."""
    try:
        with file.open(encoding="utf-8-sig", newline=newline) as opened:
            return opened.read()
    except UnicodeDecodeError:
        raise NoTextError(f"{file} is no text in UTF-8") from None


def show_error(file: Path, text: str, error: SiddhiQLError) -> None:
    """What is wrong, the line it stands in with a mark below, and the hint: on stderr."""
    shown = [f"{file}:{error.line}:{error.column}: {error.message}"]
    lines = text.split("\n")
    if 1 <= error.line <= len(lines):
        # A tab is one column of the position, so it must be one column of the screen.
        shown.append("  " + lines[error.line - 1].replace("\t", " ").rstrip())
        shown.append("  " + " " * (error.column - 1) + "^")
    if error.hint:
        shown.append(f"  hint: {error.hint}")
    errors.print("\n".join(shown), markup=False, soft_wrap=True)
