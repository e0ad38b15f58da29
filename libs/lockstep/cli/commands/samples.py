"""samples: apps to read, run and start from, each with its tests."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import Exit, console, fail, print_json
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.testing.scenario import parse_file

FOLDER = Path(str(files("lockstep") / "samples"))
"""Where the sample apps and their tests stand, as installed."""


def sample_names() -> list[str]:
    """The names of the samples, sorted."""
    return sorted(file.stem for file in FOLDER.glob("*.siddhi"))


def samples(
    name: Annotated[str | None, typer.Argument(help="One sample; all without it.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", file_okay=False, help="Copy into this folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the sample apps, print one, or copy them with their tests and dashboards."""
    if name is not None and name not in sample_names():
        hint = did_you_mean(name, sample_names())
        fail(f"there is no sample {name!r}", Exit.USAGE, hint=hint)
    chosen = [name] if name is not None else sample_names()
    if out is not None:
        _copy(chosen, out, as_json)
    elif as_json:
        print_json([_described(one) for one in chosen])
    elif name is not None:
        console.print(_file(name).read_text(encoding="utf-8"), markup=False, soft_wrap=True, end="")
    else:
        _list(chosen)


def _file(name: str, suffix: str = ".siddhi") -> Path:
    return FOLDER / f"{name}{suffix}"


def _described(name: str) -> dict[str, object]:
    """What a sample shows: the first comment line of its text, and the titles of its tests."""
    text = _file(name).read_text(encoding="utf-8")
    tests = parse_file(_file(name, ".test").read_text(encoding="utf-8"), text).scenarios
    about = text.split("\n", 1)[0].removeprefix("--").strip()
    return {"name": name, "about": about, "tests": [test.title for test in tests]}


def _list(names: list[str]) -> None:
    width = max(map(len, names))
    for name in names:
        console.print(f"{name:{width}}  {_described(name)['about']}", markup=False, soft_wrap=True)
    console.print()
    console.print("lockstep samples NAME shows one, --out DIR copies; lockstep test DIR runs them")


def _copy(names: list[str], out: Path, as_json: bool) -> None:
    targets = [out / source.name for name in names for source in _sources(name)]
    present = [str(target) for target in targets if target.exists()]
    if present:
        fail(f"{present[0]} is there already", Exit.USAGE, hint="choose another folder")
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        for source in _sources(name):
            (out / source.name).write_bytes(source.read_bytes())
    if as_json:
        print_json([str(target) for target in targets])
    else:
        for target in targets:
            console.print(str(target), markup=False, soft_wrap=True)


def _sources(name: str) -> tuple[Path, ...]:
    """The app, its tests, and its dashboards."""
    return _file(name), _file(name, ".test"), *sorted(FOLDER.glob(f"{name}.*.json"))
