"""An installed extension: found by its entry point, checked, run (in a process of its own)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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
    (tmp_path / "my_extension.py").write_text(EXTENSION)
    info = tmp_path / "my_extension-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-extension\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[lockstep.extensions]\nmy = my_extension\n")
    script = tmp_path / "use.py"
    script.write_text(USE)
    path = [str(tmp_path), *(entry for entry in sys.path if entry)]
    done = subprocess.run(
        [sys.executable, str(script)],
        env={"PYTHONPATH": ":".join(path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.split("\n")[:-1] == [
        *("[(1, 2)]", "[(0, 4), (1, 4)]"),
        *("[(2,)]", "[(None, 'no rule for the window my:none')]"),
        *("[(2,)]", "[('window of the reference, the rest in columns', None)]"),
    ], done.stderr[-2000:]
