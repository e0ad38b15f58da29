"""An installed extension that raises what no junction knows, on Spark, beside a neighbour (in a
process of its own, where it is installed)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXTENSION = """
from lockstep.extending import (
    Appending, Attribute, AttributeType, Extension, ExtensionKind, Overload, Parameter,
)

LONG = AttributeType.LONG
X = (Parameter("x", (LONG,)),)
EXTENSIONS = (
    Extension(ExtensionKind.FUNCTION, "boom", (Overload(X, LONG),), "g"),
    Extension(ExtensionKind.FUNCTION, "torn", (Overload(X, AttributeType.STRING),), "g"),
    Extension(
        ExtensionKind.STREAM_FUNCTION, "few",
        (Overload(X, adds=lambda arguments: (Attribute("w", LONG),)),), "g",
    ),
)


def boom(x):
    if x == 2:
        raise RuntimeError("boom")
    return x


FUNCTIONS = {
    ("g", "boom"): lambda arguments, context: boom,
    ("g", "torn"): lambda arguments, context: lambda x: "\\ud800" if x == 2 else "a",
}
# The events of a rehearsal, too, have one value too few.
STREAM_FUNCTIONS = {
    ("g", "few"): lambda call: Appending(lambda e: () if e.data[0] in (1, 2) else (e.data[0],))
}
"""

PLAY = """
import json
import os
from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.spark import SparkExecutor
from lockstep.plan import plan_of

S = "define stream S (x long); "


def entry(position, x):
    return LogEntry(position, EventsRecord("S", position, ((InputEvent(position, (x,)),),)))


neighbour = SparkExecutor(plan_of(S + "from S#window.length(9) select sum(x) as s insert into O;"))
neighbour.run_slice([entry(1, 40)])
found = {}
for query in (
    "from S select g:boom(x) as y insert into O;",
    "from S select g:torn(x) as y insert into O;",
    "from S#g:few(x) select w insert into O;",
):
    executor = SparkExecutor(plan_of(S + query), rehearsed=True)
    results = [executor.run_slice([entry(position, x)]) for position, x in ((1, 3), (2, 2), (3, 4))]
    found[query] = [
        [repr(row.data) for each in results for row in each.rows],
        [[each.position, each.reason] for result in results for each in result.faults],
    ]
    executor.close()
rows = neighbour.run_slice([entry(2, 2)]).rows
found["neighbour"] = [[row.data[0] for row in rows], neighbour.rebuilds]
neighbour.close()
print("found " + json.dumps(found), flush=True)
os._exit(0)
"""


@pytest.mark.processes
def test_one_event_fails_and_neighbours_stay(spark_env: None, tmp_path: Path) -> None:
    """One dead letter; the next event passes, and no worker ends with the states in it."""
    (tmp_path / "my_extension.py").write_text(EXTENSION)
    info = tmp_path / "my_extension-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-extension\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[lockstep.extensions]\nmy = my_extension\n")
    path = [str(tmp_path), *(entry for entry in sys.path if entry)]
    done = subprocess.run(
        [sys.executable, "-c", PLAY],
        env={**os.environ, "PYTHONPATH": ":".join(path)},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    line = next((one for one in done.stdout.splitlines() if one.startswith("found ")), None)
    assert line is not None, done.stderr[-3000:]
    found = json.loads(line.removeprefix("found "))
    assert found.pop("neighbour") == [[42], 0]
    boom, torn, few = found.values()
    assert boom[0] == ["(3,)", "(4,)"]
    assert torn[0] == ["('a',)", "('a',)"]
    assert few[0] == ["(3,)", "(4,)"]
    for faults, says in (
        (boom[1], "g:boom, of the extension module my_extension, failed: RuntimeError: boom"),
        (torn[1], "g:torn, of the extension module my_extension, returned half a character"),
        (few[1], "g:few, of the extension module my_extension, appended 0 values"),
    ):
        ((position, reason),) = faults
        assert position == 2
        assert says in reason
