"""Connectors that an installed extension declares and nothing makes (in a process of its own, where
it is installed)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.functions.test_plugins import run_installed

DECLARES = """
from lockstep.extending import Extension, ExtensionKind, Overload, Parameter, Sink, Source

OPTIONS = (Overload((Parameter("url"),)),)
EXTENSIONS = (
    *(Extension(ExtensionKind.SINK, name, OPTIONS) for name in ("undone", "made")),
    *(Extension(ExtensionKind.SOURCE, name, OPTIONS) for name in ("undone", "made")),
)
SINKS = {"made": Sink}
SOURCES = {"made": Source}
"""

CHECK = """
from lockstep.siddhiql import SiddhiQLError, check

for text in (
    "@sink(type='undone', url='u') define stream S (x long);",
    "define stream A (x long);\\n @source(type='Undone', url='u', @map(type='json'))"
    " define stream S (x long);",
    "@sink(type='made', url='u') define stream S (x long);",
    "@source(type='made', url='u', @map(type='json')) define stream S (x long);",
):
    try:
        check(text)
        print("taken")
    except SiddhiQLError as error:
        print(error)
"""


@pytest.mark.processes
def test_sources_and_sinks_that_nothing_makes(tmp_path: Path) -> None:
    """Known when an app is checked, with the place; else they would be looked for on the bus."""
    done = run_installed(DECLARES, CHECK, tmp_path)
    says = "the extension module my_extension declares the {} 'undone', and has nothing that makes"
    sink, source, *others = done.stdout.splitlines()
    assert others == ["taken", "taken"], done.stderr[-2000:]
    assert sink.startswith(f"line 1:1: {says.format('sink')}")
    assert "hint: it needs an entry 'undone' in SINKS" in sink
    assert source.startswith(f"line 2:2: {says.format('source')}")
    assert "hint: it needs an entry 'undone' in SOURCES" in source


@pytest.mark.processes
@pytest.mark.parametrize(
    ("kind", "called"),
    [("STORE", "store"), ("SOURCE_MAPPER", "source mapper"), ("SINK_MAPPER", "sink mapper")],
)
def test_kinds_that_only_lockstep_has(
    kind: str, called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever app asks for an extension: nothing asks these for theirs."""
    monkeypatch.chdir(tmp_path)
    text = "@sink(type='log') define stream S (x long);"
    (tmp_path / "app.siddhi").write_text(text)
    extension = (
        "from lockstep.extending import Extension, ExtensionKind, Overload\n"
        f"EXTENSIONS = (Extension(ExtensionKind.{kind}, 'mine', (Overload(()),)),)\n"
    )
    argv = ["lockstep", "validate", "app.siddhi"]
    script = f"import sys; from lockstep.cli import main; sys.argv = {argv}; main()"
    done = run_installed(extension, script, tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"the extension module my_extension declares the {called} 'mine'" in done.stderr
    assert "leave it out of EXTENSIONS" in done.stderr
    assert "Traceback" not in done.stderr
