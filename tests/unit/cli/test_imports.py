"""What a command loads: its help and its short commands answer at once."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest
import typer
from typer.testing import CliRunner

from lockstep.cli import main
from lockstep.cli.command import COMMANDS, PANELS

HEAVY: Final = {
    "aiohttp",
    "asyncpg",
    "confluent_kafka",
    "google.protobuf",
    "nats",
    "numba",
    "numpy",
    "pandas",
    "proto_schema_parser",
    "pyarrow",
    "pyarrow.compute",
    "pyspark",
    "redis",
}
RUN: Final = """
import json, sys
from lockstep.cli import main
try:
    main()
finally:
    sys.stderr.write("\\n" + json.dumps(sorted(sys.modules)))
"""
APP: Final = """@app:name('Good')
@source(type='http', @map(type='json'))
define stream S (a int);
@sink(type='log')
define stream T (total long);
from S[a > 1]#window.length(5) select sum(a) as total insert into T;
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules of a process that has run the command to its end."""
    command = [sys.executable, "-c", RUN, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.processes
@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("list",),
        ("status",),
        ("send", "App", "S", "{}"),
        ("tail", "App", "S"),
        ("validate", "good.siddhi"),
        ("samples",),
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_a_short_command_loads_nothing_heavy(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Neither Spark nor the compiler of kernels nor Arrow nor the servers' clients nor Protobuf."""
    (tmp_path / "good.siddhi").write_text(APP)
    assert loaded(tmp_path, *arguments) & HEAVY == set()


@pytest.mark.processes
def test_the_count_of_modules_sees_what_is_loaded(tmp_path: Path) -> None:
    """A command that needs columns has them."""
    (tmp_path / "good.siddhi").write_text(APP)
    assert {"numba", "numpy", "pyarrow"} <= loaded(tmp_path, "explain", "good.siddhi")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name: str) -> None:
    """The table stands in for the modules until one is called."""
    place, said = COMMANDS[name]
    module, _, function = place.partition(".")
    found = getattr(import_module(f"lockstep.cli.commands.{module}"), function)
    assert (found.info.help if isinstance(found, typer.Typer) else inspect.getdoc(found)) == said


def test_each_command_stands_under_one_head() -> None:
    """So `--help` shows it, once."""
    assert sorted(name for names in PANELS.values() for name in names) == sorted(COMMANDS)


def test_the_version_is_the_projects() -> None:
    """What `lockstep --version` says."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))
    told = CliRunner().invoke(main, ["--version"])
    assert told.stdout == f"lockstep {project['project']['version']}\n"
