"""Extensions that raise what they like and give back what they like: both executors make the same
of it, one event at a time (in a process of its own, where they are installed)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.functions.test_plugins import run_installed

EXTENSION = '''
"""Code of others, at its worst."""
import enum
import sys

import numpy as np

from lockstep.extending import (
    Appending, Attribute, AttributeType, Buffering, Extension, ExtensionKind, Multiplying, Overload,
    Parameter, WindowBase, window,
)

A = AttributeType
X = (Parameter("x", (A.LONG,)),)
EXT, FUNCTIONS, AGGREGATORS, STREAM_FUNCTIONS = [], {}, {}, {}


class Own(Exception):
    """Nobody knows it."""


class Colour(enum.IntEnum):
    """An int, and more."""

    RED = 7


def boom(error):
    raise error


def function(name, f, result=A.LONG):
    EXT.append(Extension(ExtensionKind.FUNCTION, name, (Overload(X, result),), "g"))
    FUNCTIONS["g", name] = lambda arguments, context: f


for error in (RuntimeError, AssertionError, OSError, Own, ValueError, SystemExit, StopIteration):
    function(error.__name__, lambda x, error=error: boom(error("boom")) if x == 2 else x)
function("text", lambda x: "abc")
function("half", lambda x: x / 2)
function("big", lambda x: 2**70)
function("object", lambda x: object(), A.OBJECT)
function("map", lambda x: {"a": {1, 2}}, A.OBJECT)
function("none", lambda x: None)
function("one", lambda x: 1, A.BOOL)
function("torn", lambda x: "\\ud800", A.STRING)
function("numpy", lambda x: np.int64(x))
function("five", lambda x: 5, A.STRING)
function("colour", lambda x: Colour.RED)


class Kept:
    """A list of what is there."""

    def __init__(self):
        self.n = []

    def add(self, x):
        self.n.append(x)

    def remove(self, x):
        self.n.remove(x)

    def reset(self):
        self.n = []

    def value(self):
        return len(self.n)

    def is_empty(self):
        return not self.n

    def snapshot(self):
        return list(self.n)

    def restore(self, state):
        self.n = list(state)


class Live(Kept):
    """Its snapshot is what changes later."""

    def snapshot(self):
        return self.n

    def restore(self, state):
        self.n = state


class Torn(Live):
    """Fails with half of its work done."""

    def add(self, x):
        self.n.append(x)
        if x == 2:
            raise RuntimeError("half done")
        self.n.append(x)

    def remove(self, x):
        pass


class Text(Kept):
    def value(self):
        return "text"


class Half(Kept):
    def value(self):
        return 1.5


class Shy(Kept):
    def value(self):
        return boom(RuntimeError("shy")) if self.n[-1] == 2 else 1


class Opaque(Kept):
    def snapshot(self):
        return self


class LaterOpaque(Kept):
    def snapshot(self):
        return [object() for _ in self.n]


for kind in (Kept, Live, Torn, Text, Half, Shy, Opaque, LaterOpaque):
    EXT.append(Extension(ExtensionKind.AGGREGATOR, kind.__name__, (Overload(X, A.LONG),), "g"))
    AGGREGATORS["g", kind.__name__] = lambda arguments, kind=kind: kind()


class Failing(WindowBase):
    def process(self, chunk):
        if any(event.data[0] == 2 for event in chunk):
            raise RuntimeError("window")
        self.emit(chunk)


class Waking(WindowBase):
    def process(self, chunk):
        self.context.schedule(self, self.context.now_ms() + 10)
        self.emit(chunk)

    def on_timer(self, due_ms):
        raise RuntimeError("timer")


class NoState(WindowBase):
    def process(self, chunk):
        self.emit(chunk)

    def snapshot(self):
        return {"o": object()}


for kind in (Failing, Waking, NoState):
    EXT.append(Extension(ExtensionKind.WINDOW, kind.__name__, (Overload(()),), "g"))
    window(kind.__name__, "g")(kind)


def stream_function(name, made, adds=(Attribute("w", A.LONG),)):
    overload = Overload(X, adds=lambda arguments: adds)
    EXT.append(Extension(ExtensionKind.STREAM_FUNCTION, name, (overload,), "g"))
    STREAM_FUNCTIONS["g", name] = made


class Letting(Buffering):
    def __init__(self, call, added):
        super().__init__(call)
        self.added = added

    def process(self, chunk):
        if any(event.data[0] == 2 for event in chunk):
            raise RuntimeError("buffer")
        self.emit([type(e)(e.timestamp_ms, (*e.data, *self.added), e.kind) for e in chunk])


stream_function("words", lambda call: Multiplying(lambda e: ((i,) for i in range(e.data[0]))))
stream_function("few", lambda call: Appending(lambda e: ()))
stream_function("many", lambda call: Appending(lambda e: (1, 2, 3)))
stream_function("typed", lambda call: Appending(lambda e: ("text",)))
stream_function("number", lambda call: Appending(lambda e: [np.float64(1.5)]))
stream_function(
    "late", lambda call: Multiplying(lambda e: (boom(RuntimeError("x")) if e.data[0] == 2 else (i,)
                                                for i in range(2)))
)
stream_function("lets", lambda call: Letting(call, (1.5,)))
stream_function("letsmany", lambda call: Letting(call, (1, 2)))
EXTENSIONS = tuple(EXT)
'''

S = "define stream S (x long); "
APPS = {
    **{
        name: f"from S select g:{name}(x) as y, x insert into O;"
        for name in (
            *("RuntimeError", "AssertionError", "OSError", "Own", "ValueError", "SystemExit"),
            *("StopIteration", "text", "half", "big", "object", "map", "none", "one", "torn"),
            *("numpy", "five", "colour"),
        )
    },
    "half compared": "from S[g:half(x) > 0] select x insert into O;",
    "five joined": "from S select str:concat(g:five(x), 'b') as y insert into O;",
    **{
        name: f"from S#window.length(1) select g:{name}(x) as y insert into O;"
        for name in ("Kept", "Live", "Torn", "Text", "Half", "Shy", "LaterOpaque")
    },
    "beside": "from S#window.length(5) select sum(x) as s, g:Torn(x) as y insert into O;",
    **{name: f"from S#window.g:{name}() select x insert into O;" for name in ("Failing", "Waking")},
    **{
        name: f"from S#g:{name}(x) select * insert into O;"
        for name in ("words", "few", "many", "typed", "number", "late", "lets", "letsmany")
    },
}

PLAY = """
import json
import sys
from lockstep.testing import VirtualApp

def play(text, executor):
    with VirtualApp(text, executor=executor) as app:
        for x in (1, 2, 3, 4):
            app.send("S", [x])
            app.advance(100)
        return [
            [repr(event.data) for event in app.stream("O")],
            [[[e.data for e in each.events], each.reason] for each in app.faults()],
        ]


played = {}
for name, text in json.loads(sys.argv[1]).items():
    for executor in ("reference", "columnar"):
        try:
            played[f"{name}/{executor}"] = play(text, executor)
        except BaseException as error:
            played[f"{name}/{executor}"] = ["escaped", repr(error)]
print(json.dumps(played))
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came out of each app, and what was told of events that failed, by `name/executor`."""
    apps = {name: S + query for name, query in APPS.items()}
    script = PLAY.replace("sys.argv[1]", repr(json.dumps(apps)))
    done = run_installed(EXTENSION, script, tmp_path_factory.mktemp("installed"))
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.processes
@pytest.mark.parametrize("name", APPS)
def test_both_executors_make_the_same_of_it(name: str, played: dict[str, Any]) -> None:
    """Of rows, and of what is told."""
    assert played[f"{name}/columnar"] == played[f"{name}/reference"]


ALL = [[1], [2], [3], [4]]
NONE: list[str] = []
EXPECTED: dict[str, tuple[list[str], list[list[int]], str]] = {
    **{
        name: (["(1, 1)", "(3, 3)", "(4, 4)"], [[2]], f"failed: {name}: boom")
        for name in ("RuntimeError", "AssertionError", "OSError", "Own", "ValueError", "SystemExit")
    },
    "StopIteration": (["(1, 1)", "(3, 3)", "(4, 4)"], [[2]], "failed: StopIteration"),
    "text": (NONE, ALL, "returned 'abc', which is no long"),
    "half": (["(0, 1)", "(1, 2)", "(1, 3)", "(2, 4)"], [], ""),
    "half compared": (["(2,)", "(3,)", "(4,)"], [], ""),
    "big": (NONE, ALL, "which is no long"),
    "object": (NONE, ALL, "a value that cannot travel: builtins.object"),
    "map": ([f"({{'a': {{1, 2}}}}, {x})" for x in (1, 2, 3, 4)], [], ""),
    "none": ([f"(None, {x})" for x in (1, 2, 3, 4)], [], ""),
    "one": (NONE, ALL, "returned 1, which is no bool"),
    "torn": (NONE, ALL, "half a character"),
    "numpy": ([f"({x}, {x})" for x in (1, 2, 3, 4)], [], ""),
    "five": (NONE, ALL, "returned 5, which is no string"),
    "five joined": (NONE, ALL, "returned 5, which is no string"),
    "colour": ([f"(7, {x})" for x in (1, 2, 3, 4)], [], ""),
    "Kept": (["(1,)"] * 4, [], ""),
    "Live": (["(1,)"] * 4, [], ""),
    # 2 has left no trace, not even half of one: else there would be one more.
    "Torn": (["(2,)", "(4,)", "(6,)"], [[2]], "failed: RuntimeError: half done"),
    "beside": (["(1, 2)", "(6, 4)", "(10, 6)"], [[2]], "failed: RuntimeError: half done"),
    "Text": (NONE, ALL, "returned 'text', which is no long"),
    "Half": (["(1,)"] * 4, [], ""),
    "Shy": (["(1,)"] * 3, [[2]], "failed: RuntimeError: shy"),
    "Failing": (["(1,)", "(3,)", "(4,)"], [[2]], "failed: RuntimeError: window"),
    "Waking": (["(1,)", "(2,)", "(3,)", "(4,)"], [[]] * 4, "failed: RuntimeError: timer"),
    "words": ([f"({x}, {n})" for x in (1, 2, 3, 4) for n in range(x)], [], ""),
    "few": (NONE, ALL, "appended 0 values, and declares w long"),
    "many": (NONE, ALL, "appended 3 values, and declares w long"),
    "typed": (NONE, ALL, "returned 'text', which is no long"),
    "number": ([f"({x}, 1)" for x in (1, 2, 3, 4)], [], ""),
    "late": ([f"({x}, {n})" for x in (1, 3, 4) for n in (0, 1)], [[2]], "failed: RuntimeError: x"),
    "lets": (["(1, 1)", "(3, 1)", "(4, 1)"], [[2]], "failed: RuntimeError: buffer"),
    "letsmany": (NONE, ALL, ""),
}


@pytest.mark.processes
@pytest.mark.parametrize("name", EXPECTED)
def test_one_event_fails_and_the_next_one_passes(name: str, played: dict[str, Any]) -> None:
    """Whatever class it raises; what it gives is made right or refused, and its name is told."""
    rows, events, says = EXPECTED[name]
    found, faults = played[f"{name}/reference"]
    assert found == rows
    assert [[row[0] for row in fault[0]] for fault in faults] == events
    for _, reason in faults:
        assert says in reason
        assert "of the extension module my_extension," in reason


VALIDATE = """
from pathlib import Path
from typer.testing import CliRunner
from lockstep.cli.command import app

for query in ("S#window.g:NoState() select x", "S select g:Opaque(x) as y"):
    Path("app.siddhi").write_text(f"define stream S (x long); from {query} insert into O;")
    done = CliRunner().invoke(app, ["validate", "app.siddhi"])
    print(done.exit_code, done.stderr.replace("\\n", " ") if done.stderr else done.exception)
"""


@pytest.mark.processes
def test_a_state_that_is_not_plain_is_known_when_an_app_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such an app could be deployed, and would begin anew at every restart."""
    monkeypatch.chdir(tmp_path)
    done = run_installed(EXTENSION, VALIDATE, tmp_path)
    window, aggregator = done.stdout.splitlines()
    for line, name, type_ in ((window, "g:NoState", "object"), (aggregator, "g:Opaque", "Opaque")):
        assert line.startswith("2 app.siddhi:1:"), done.stdout + done.stderr[-2000:]
        assert f"{name}, of the extension module my_extension, has a state" in line
        assert f"a value of type {type_} cannot be part of a snapshot" in line
        assert "EXTENDING.md" in line
