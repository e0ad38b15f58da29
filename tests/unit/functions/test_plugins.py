"""An installed extension: found by its entry point, checked, run (in a process of its own)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lockstep.columns.rule import NotLowerable
from lockstep.functions.plugins import Promised, guarded
from lockstep.operators.errors import EventError
from lockstep.siddhiql import SiddhiQLError

EXTENSION = '''
"""Functions of one's own."""
from lockstep.extending import (
    Attribute, AttributeType, Extension, ExtensionKind, Leaves, Multiplying, Overload, Parameter,
    Timers, WindowBase, WindowExtension, window,
)

INT = AttributeType.INT
ONE = (Parameter("x", (INT,)),)
EXTENSIONS = (
    Extension(ExtensionKind.FUNCTION, "twice", (Overload(ONE, INT),), "my"),
    Extension(ExtensionKind.AGGREGATOR, "last", (Overload(ONE, INT),), "my"),
    Extension(
        ExtensionKind.STREAM_FUNCTION,
        "count",
        (Overload(ONE, adds=lambda a: (Attribute("n", INT),)),),
        "my",
    ),
    Extension(ExtensionKind.WINDOW, "none", (Overload(()),), "my"),
    WindowExtension(
        "told", (Overload(()),), "my",
        meaning="my_extension:Told", leaves=Leaves.IN_ANY_ORDER, timers=Timers.NONE,
    ),
)
FUNCTIONS = {("my", "twice"): lambda arguments, context: lambda x: None if x is None else 2 * x}


class Last:
    """The latest value."""

    def __init__(self):
        self.latest = None

    def add(self, x):
        self.latest = x

    def remove(self, x):
        pass

    def reset(self):
        self.latest = None

    def value(self):
        return self.latest

    def is_empty(self):
        return self.latest is None

    def snapshot(self):
        return self.latest

    def restore(self, state):
        self.latest = state


AGGREGATORS = {("my", "last"): lambda arguments: Last()}
STREAM_FUNCTIONS = {
    ("my", "count"): lambda call: Multiplying(lambda e: [(n,) for n in range(call.values[0](e))])
}


class Told(WindowBase):
    """The same, and declared."""

    def process(self, chunk):
        self.emit(chunk)


@window("none", "my")
class NoWindow:
    """Passes everything."""

    def __init__(self, call):
        self.emit = None

    def process(self, chunk):
        self.emit(chunk)

    def on_timer(self, due_ms):
        pass

    def content(self):
        return ()

    def snapshot(self):
        return None

    def restore(self, state):
        pass
'''

USE = """
from lockstep.execute.columnar import lowering_of
from lockstep.testing import VirtualApp

for selected, window in (("my:last(v) as l", "#window.my:none()"), ("my:twice(v) as t", "")):
    text = f"define stream S (v int); from S#my:count(v){window} select n, {selected} insert into O"
    with VirtualApp(text) as app:
        app.send("S", [2])
        print([event.data for event in app.stream("O")])

for window in ("my:none", "my:told"):
    text = f"define stream S (v int); from S#window.{window}() select sum(v) as s insert into O"
    with VirtualApp(text, executor="columnar") as app:
        app.send("S", [2])
        print([event.data for event in app.stream("O")])
    print([(q.rule, q.reason) for q in lowering_of(app.plan).choices])
"""


@pytest.mark.processes
def test_an_extension_is_found_checked_and_run(tmp_path: Path) -> None:
    """A function, an aggregator, a stream function and a window from a tiny distribution."""
    done = run_installed(EXTENSION, USE, tmp_path)
    assert done.stdout.split("\n")[:-1] == [
        *("[(1, 2)]", "[(0, 4), (1, 4)]"),
        *("[(2,)]", "[(None, 'no rule for the window my:none')]"),
        *("[(2,)]", "[('window of the reference, the rest in columns', None)]"),
    ], done.stderr[-2000:]


def run_installed(extension: str, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a script where the extension is installed as `my_extension`."""
    (folder / "my_extension.py").write_text(extension)
    info = folder / "my_extension-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-extension\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[lockstep.extensions]\nmy = my_extension\n")
    (folder / "use.py").write_text(script)
    path = [str(folder), *(entry for entry in sys.path if entry)]
    return subprocess.run(
        [sys.executable, str(folder / "use.py")],
        env={"PYTHONPATH": ":".join(path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


BROKEN = '''
"""Every kind, made in a wrong way."""
from lockstep.extending import (
    Aggregator, AttributeType, Extension, ExtensionKind, Overload, Parameter, WindowBase,
    WindowExtension, window,
)

INT = AttributeType.INT
ONE = (Overload((Parameter("x", (INT,)),), INT),)
EXTENSIONS = (
    *(Extension(ExtensionKind.FUNCTION, name, ONE, "my") for name in ("early", "value", "nobody")),
    *(Extension(ExtensionKind.AGGREGATOR, name, ONE, "my") for name in ("two", "some", "based")),
    Extension(ExtensionKind.FUNCTION, "typed", (Overload((), lambda given: given[0].type),), "my"),
    Extension(ExtensionKind.STREAM_FUNCTION, "adds", (Overload((), adds=lambda a: a.all),), "my"),
    Extension(ExtensionKind.WINDOW, "sure", (Overload((), check=lambda given: 1 / 0),), "my"),
    Extension(ExtensionKind.STREAM_FUNCTION, "none", (Overload(ONE[0].parameters),), "my"),
    Extension(ExtensionKind.WINDOW, "empty", (Overload(()),), "my"),
    WindowExtension("lost", (Overload(()),), "my", meaning="my_extension:Lost"),
)


class Some:
    """Half of an aggregator."""

    def add(self, x):
        pass

    def remove(self, x):
        pass

    def value(self):
        pass


class Based(Some, Aggregator):
    """The same, with what it lacks declared."""


FUNCTIONS = {
    ("my", "early"): lambda x: 2 * x,
    ("my", "value"): lambda arguments, context: 2,
}
AGGREGATORS = {
    ("my", "two"): lambda arguments, context: Some(),
    ("my", "some"): lambda arguments: Some(),
    ("my", "based"): lambda arguments: Based(),
}
STREAM_FUNCTIONS = {("my", "none"): lambda call: None}


@window("empty", "my")
class Empty(WindowBase):
    """Takes a name that is not there."""

    def __init__(self, call):
        super().__init__(call)
        self.limit = LIMIT
'''

VALIDATE = """
from pathlib import Path
from typer.testing import CliRunner
from lockstep.cli.command import app

for query in (
    "S select my:early(v) as x", "S select my:value(v) as x", "S select my:nobody(v) as x",
    "S select my:two(v) as x", "S select my:some(v) as x group by v",
    "S select my:based(v) as x", "S#my:none(v) select v", "S#window.my:empty() select v",
    "S#window.my:lost() select v", "S select my:typed() as x", "S#my:adds() select v",
    "S#window.my:sure() select v",
):
    Path("app.siddhi").write_text(f"define stream S (v int); from {query} insert into O;")
    done = CliRunner().invoke(app, ["validate", "app.siddhi"])
    print(done.exit_code, done.stderr.splitlines()[0] if done.stderr else done.exception)
"""


@pytest.mark.processes
def test_mistakes_of_an_extension_are_known_when_an_app_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the name of the extension and the place in the app; no event has to come."""
    monkeypatch.chdir(tmp_path)
    done = run_installed(BROKEN, VALIDATE, tmp_path)
    lines = done.stdout.splitlines()
    assert len(lines) == len(MISTAKES), done.stderr[-2000:]
    for line, (name, says) in zip(lines, MISTAKES, strict=True):
        assert line.startswith("2 app.siddhi:1:"), line
        assert name in line
        assert says in line


MISTAKES = [
    ("my:early, of the extension module my_extension, cannot be made", "positional argument"),
    ("my:value, of the extension module my_extension, is of type int", "lacks __call__"),
    ("an extension declares 'nobody'", "has nothing that makes it"),
    ("my:two, of the extension module my_extension, cannot be made", "'context'"),
    ("my:some, of", "is of type Some, which lacks is_empty, reset, restore, snapshot"),
    ("my:based, of the extension module my_extension, cannot be made", "abstract class Based"),
    ("my:none, of", "is of type NoneType, which lacks process"),
    ("my:empty, of the extension module my_extension, cannot be made", "NameError"),
    ("my:lost, of the extension module my_extension, cannot be made", "AttributeError"),
    ("my:typed(): the code that checks its arguments fails", "IndexError"),
    ("my:adds: the code that checks its arguments fails", "AttributeError"),
    ("window my:sure(): the code that checks its arguments fails", "ZeroDivisionError"),
]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import none_of_that_name", "cannot be loaded: ModuleNotFoundError"),
        ("def f(:", "cannot be loaded: SyntaxError"),
        ("EXTENSIONS = (3,)", "cannot be used: AttributeError"),
    ],
)
def test_a_module_that_cannot_be_used_is_named(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of a traceback, whichever app is checked."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.siddhi").write_text("define stream S (v int); from S#my:x() insert into O;")
    argv = ["lockstep", "validate", "app.siddhi"]
    script = f"import sys; from lockstep.cli import main; sys.argv = {argv}; main()"
    done = run_installed(text, script, tmp_path)
    assert done.returncode == 2, done.stderr
    assert "my_extension" in done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "meant", [EventError("no"), NotLowerable("asks for a timer"), SiddhiQLError("no")]
)
def test_what_is_refused_on_purpose_stays_as_it_is(meant: Exception) -> None:
    """An extension's own refusal, and those of what it asks: columns give way to the reference."""

    def refuse() -> None:
        raise meant

    made = guarded(refuse, ("my", "x"), "my_extension", Promised((), ""))
    with pytest.raises(type(meant)) as told:
        made()
    assert told.value is meant
