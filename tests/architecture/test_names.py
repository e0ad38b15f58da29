"""Names and openings: no drawer for everything, every module and every test says what it is for."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.source import ROOT, Module, modules, names, product

_DRAWERS = {"util", "utils", "common", "helper", "helpers", "misc", "base", "shared"}
_TOP_LEVEL_PACKAGES = {"receiver", "processor", "publisher", "presenter", "coordinator", "console"}


def test_no_module_is_a_drawer() -> None:
    """A name that could hold anything soon does."""
    found = [
        module.path
        for module in product()
        if _DRAWERS & set(module.path.removesuffix(".py").split("/"))
    ]
    assert not found


def test_services_are_the_six() -> None:
    """A seventh door is a decision, not an accident."""
    found = {
        path.name
        for path in (ROOT / "services/lockstep_services").iterdir()
        if path.is_dir() and any(path.glob("*.py"))
    }
    assert found <= _TOP_LEVEL_PACKAGES


def test_mains_are_thin() -> None:
    """A service's main does not grow over 20 lines; its wiring is a module of its own."""
    mains = [each for each in modules("services") if each.path.endswith("/__main__.py")]
    assert not [f"{each.path}: {each.lines}" for each in mains if each.lines > 20]


@pytest.mark.parametrize("module", modules("libs", "services", "tests"), ids=lambda each: each.path)
def test_module_opens_with_its_promise(module: Module) -> None:
    """A docstring of at most eight lines of text stands first."""
    docstring = ast.get_docstring(module.tree)
    if docstring is None:
        assert not module.tree.body, "no docstring"
    elif not module.path.startswith("tests/"):
        assert len([line for line in docstring.splitlines() if line.strip()]) <= 8


def test_every_test_says_what_it_shows() -> None:
    """Each test has a docstring whose first line is a sentence."""
    silent = [
        f"{module.path}:{name}"
        for module in modules("tests")
        for name, node in names(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and name.rpartition(".")[2].startswith("test_")
        and not (ast.get_docstring(node) or "").strip()
    ]
    assert not silent


def test_kernels_stand_in_kernel_modules() -> None:
    """What is compiled is kept by the text of all modules named so (columns.compiled)."""
    astray = [
        module.path
        for module in product()
        if any(f"\n@{each}\n" in module.text for each in ("kernel", "part"))
        and not module.path.endswith("kernel.py")
    ]
    assert not astray
