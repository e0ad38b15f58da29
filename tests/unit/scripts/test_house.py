"""The counting of the house, on a small tree of which the answers are known."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
FILES = {
    "libs/lockstep/windows/frequent/__init__.py": 'window("frequent", gap)\n',
    "libs/lockstep/windows/frequent/kernel.py": "def play(self, a, b, *, c): ...\n",
    "libs/lockstep/windows/sort/__init__.py": "SORTED = {'frequent', 'sort', 'hopping'}\n",
    "libs/lockstep/rules.py": """'''frequent(5) is told here.'''
from lockstep import one
RULES = {"frequent": 1, (None, "hopping"): 2, "sort(2)": 3}
""",
    "libs/lockstep/one.py": "def hidden():\n    from lockstep import two\n",
    "libs/lockstep/two.py": "import lockstep.one\n",
    "libs/lockstep/telemetry/boards/asked.py": "ASKED = 'frequent(rate)'\n",
    "libs/lockstep/GLOSSARY.md": "| word | meaning |\n| --- | --- |\n| slice | a part |\n",
    "services/lockstep_services/run.py": "call(scope='frequent')\n",
    "tests/property/drawn.py": "DRAWN = ['frequent(3)', 'hopping(3)', 'sort(1)']\n",
    "tests/property/example.py": "ONE = 'frequent'\n",
}
NAMES = {"window": ["frequent", "hopping", "sort", "time", "unique:batch"], "function": ["sort"]}


@pytest.fixture(scope="module")
def house() -> ModuleType:
    """The script as a module; importing it leaves no compiled file beside it."""
    loader = SourceFileLoader("house", str(ROOT / "scripts" / "house"))
    spec = importlib.util.spec_from_loader("house", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        sys.modules["house"] = module
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
        del sys.modules["house"]
    return module


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The small tree."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_size_and_widest_function(house: ModuleType, tree: Path) -> None:
    """Files of library and services; self is no parameter."""
    sources = house.read(tree)
    assert (len(sources), sum(source.lines for source in sources)) == (8, 11)
    kernel = "libs/lockstep/windows/frequent/kernel.py: play"
    assert house.most_parameters(sources) == (3, kernel)


def test_an_import_inside_a_function_closes_a_ring(house: ModuleType, tree: Path) -> None:
    """It is counted as hidden, and it is an edge like any other."""
    sources = house.read(tree)
    assert house.hidden_imports(sources) == ["lockstep.one"]
    assert house.strong_components(house.import_graph(sources)) == [
        ["lockstep.one", "lockstep.two"]
    ]


def test_components_of_a_larger_graph(house: ModuleType) -> None:
    """Two rings that one edge joins stay two; the larger is first."""
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a", "f"}}
    assert house.strong_components(graph) == [["a", "b", "c"], ["d", "e"]]


def test_files_that_a_window_touches(house: ModuleType, tree: Path) -> None:
    """Own folder, strings, tables of property tests, a golden; no keyword, no docstring, nothing of
    another language."""
    touched = house.files_touched(tree, house.read(tree), "window", NAMES)
    assert touched["frequent"] == [
        "libs/lockstep/rules.py",
        "libs/lockstep/windows/frequent/__init__.py",
        "libs/lockstep/windows/frequent/kernel.py",
        "libs/lockstep/windows/sort/__init__.py",
        "tests/property/drawn.py",
        "one golden",
    ]
    assert set(touched) == {"frequent", "hopping"}, "names that mean more than one thing"


def test_tables_of_names_outside_the_concepts(house: ModuleType, tree: Path) -> None:
    """Three names as keys make one; what stands in a concept's folder is its own."""
    tables = house.name_tables(house.read(tree), {"frequent", "hopping", "sort"})
    assert tables == ["libs/lockstep/rules.py:3"]


def test_words_of_the_glossary(house: ModuleType, tree: Path) -> None:
    """Rows of its table without the head; none where there is no page."""
    assert house.glossary_entries(tree) == 1
    assert house.glossary_entries(tree / "libs") == 0
