"""Every example of the pages on the language, testing and extending does what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from lockstep.siddhiql import SiddhiQLError
from lockstep.siddhiql.syntax.build_inputs import MAX_STATES
from lockstep.siddhiql.syntax.depth import MAX_DEPTH_NODES
from lockstep.siddhiql.syntax.parser import MAX_TEXT_CHARACTERS
from lockstep.testing import VirtualApp
from lockstep.testing.difference import differences
from lockstep.testing.play import play
from lockstep.testing.scenario import app_of, parse_file
from tests.unit.cli.conftest import Lockstep

ROOT = Path(__file__).parents[3]
LANGUAGE = ROOT / "libs/lockstep/siddhiql/LANGUAGE.md"
TESTING = ROOT / "libs/lockstep/testing/README.md"
EXTENDING = ROOT / "libs/lockstep/EXTENDING.md"
PAGES = (LANGUAGE, TESTING, EXTENDING)


def blocks(kind: str) -> list[tuple[str, str]]:
    """(page:line, content) of the fenced blocks of a kind."""
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in re.finditer(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, match.start()) + 1
            found.append((f"{page.name}:{line}", match[1]))
    return found


@pytest.mark.parametrize(("place", "text"), blocks("siddhi"), ids=lambda value: value[:20])
def test_examples(place: str, text: str) -> None:
    """Each part of a block brings what it says."""
    scenarios = parse_file(text).scenarios
    assert scenarios, place
    for scenario in scenarios:
        found = differences(scenario, play(scenario))
        assert not found, "\n".join([place, *(difference.text() for difference in found)])


REFUSED = [text for _, block in blocks("siddhi-refused") for text in block.splitlines()]


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    """What a page calls refused is refused, with a position and a hint."""
    with pytest.raises(SiddhiQLError) as refused:
        VirtualApp(text)
    assert refused.value.column > 1 or "@" in text
    assert refused.value.hint or "regular expression" in refused.value.message


def python_blocks() -> list[str]:
    """The pages' Python, in order: a test, a function, a window, an aggregator, a stream function,
    a sink."""
    return [text for _, text in blocks("python")]


USE_EXTENSIONS = """
from lockstep.testing import VirtualApp

app_text = (
    "define stream S (who string, amount double);"
    "@info(name='q') from S#window.loyalty:sample(2) "
    "select who, loyalty:points(amount) as points insert into O;"
)
with VirtualApp(app_text) as app:
    for amount in (10.0, 25.0, None):
        app.send("S", ["ann", amount])
    snapshot = app.snapshot()
with VirtualApp.restore(app_text, snapshot) as app:
    for amount in (99.0, 100.0):
        app.send("S", ["bob", amount])
    print([event.data for event in app.stream("O")])

app_text = (
    "define stream S (who string, amount double, note string);"
    "from S#window.lengthBatch(2) select who, loyalty:above(amount, 9.5) as n group by who "
    "insert into Batches;"
    "from S#window.length(2) select loyalty:above(amount, 9.5) as n insert into Last;"
    "from S#loyalty:words(note) select who, word insert into Words;"
)
for executor in ("reference", "columnar"):
    with VirtualApp(app_text, executor=executor) as app:
        for amount, note in ((10.0, "good day"), (25.0, None), (None, "x")):
            app.send("S", ["ann", amount, note])
        snapshot = app.snapshot()
    with VirtualApp.restore(app_text, snapshot, executor=executor) as app:
        app.send("S", ["bob", 99.0, "a b"])
        app.send("S", ["bob", 9.0, ""])
        for stream in ("Batches", "Last", "Words"):
            print([event.data for event in app.stream(stream)])
"""
SHOWN = [
    "[('bob', 9)]",
    *(2 * ["[('ann', 0), ('bob', 1)]", "[(1,), (1,)]", "[('bob', 'a'), ('bob', 'b')]"]),
]


@pytest.mark.processes
def test_extensions_work_exactly_as_shown(tmp_path: Path) -> None:
    """All modules, found by entry points as the page declares them, in a process of its own."""
    function, *others = python_blocks()[1:5]
    assert len(function.strip().splitlines()) <= 15
    (tmp_path / "loyalty.py").write_text(function)
    names = ("sampling", "above", "words")
    for name, text in zip(names, others, strict=True):
        (tmp_path / f"{name}.py").write_text(text)
    (_, declared), *_ = blocks("toml")
    entry_points = declared.replace('project.entry-points."lockstep.extensions"', GROUP)
    info = tmp_path / "loyalty-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loyalty\nVersion: 1.0\n")
    lines = entry_points.replace('"', "") + "".join(f"{name} = {name}\n" for name in names)
    (info / "entry_points.txt").write_text(lines)
    done = run_python(USE_EXTENSIONS, tmp_path)
    assert done.stdout.splitlines() == SHOWN, done.stderr[-2000:]


GROUP = "lockstep.extensions"


def run_python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs code with the folder importable."""
    path = [str(folder), *(entry for entry in sys.path if entry)]
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={"PYTHONPATH": ":".join(path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.processes
def test_the_python_test_is_one(tmp_path: Path) -> None:
    """The example for pytest passes on the example app."""
    (_, app) = blocks("siddhi")[-1]
    (tmp_path / "hot.siddhi").write_text(app_of(app))
    done = run_python(python_blocks()[0] + "\ntest_hot_rooms()\nprint('passed')\n", tmp_path)
    assert done.stdout.strip() == "passed", done.stderr[-2000:]


def test_a_failure_looks_as_shown(
    lockstep: Lockstep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The picture of a difference on the page is what the command prints."""
    (_, app) = blocks("siddhi")[-1]
    shown = re.search(r"^```\n(FAIL .*?)^```$", TESTING.read_text(), re.MULTILINE | re.DOTALL)
    assert shown is not None
    (tmp_path / "hot.siddhi").write_text(app.replace("25.5", "26.0"))
    monkeypatch.chdir(tmp_path)
    assert lockstep("test", "hot.siddhi").stdout == shown[1]


def test_limits_are_those_of_the_code() -> None:
    """The numbers of the language page."""
    text = LANGUAGE.read_text()
    for limit in (MAX_TEXT_CHARACTERS, MAX_DEPTH_NODES, MAX_STATES):
        assert f"| {limit:,} |" in text


def test_there_are_examples() -> None:
    """A page without blocks would pass whatever it said."""
    assert len(blocks("siddhi")) > 12
    assert len(REFUSED) > 12


def test_defects_stand_on_the_page_once_each() -> None:
    """All sixteen rows, in order."""
    text = LANGUAGE.read_text()
    section = text[text.index("## 4. ") : text.index("Examples, in the order")]
    numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)]
    assert sorted(set(numbers)) == list(range(1, 17))
    assert numbers == sorted(numbers)
