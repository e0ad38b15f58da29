"""What people are told to install is what the project means."""

from __future__ import annotations

import re
import tomllib

from lockstep.events.packages import PACKAGES, to_install
from tests.architecture.source import ROOT, modules
from tests.architecture.test_pages import pages

_BY_NAME = re.compile(r"(?<![\w./-])lockstep\[[a-z]|pip3? install [^`\n]*(?<![\w./-])lockstep\b")


def test_nobody_is_told_to_install_lockstep_from_the_index() -> None:
    """A stranger's package has that name there: an extra is asked of a wheel's file, or its
    packages are named."""
    texts = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in pages()}
    texts |= {one.path: one.text for one in modules("libs", "services", "tests", "scripts")}
    told = [
        f"{path}: {line.strip()}"
        for path, text in texts.items()
        for line in text.splitlines()
        if _BY_NAME.search(line)
    ]
    assert not told


def test_hints_name_the_packages_of_the_project() -> None:
    """Those of its extras, with their bounds; of an extra that is not its own nobody knows."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = extras["optional-dependencies"]
    assert {extra: tuple(optional[extra]) for extra in PACKAGES} == PACKAGES
    meant = {one for call in ("extra", "to_install") for one in _named(call)}
    assert meant & set(optional) == set(PACKAGES)
    assert to_install("mongodb", "here") == "pip install 'pymongo>=4.13,<4.18' here"
    assert to_install("of somebody else", "here") == "install it here"


def _named(call: str) -> set[str]:
    """The extras that the product names in words."""
    pattern = re.compile(rf"\b{call}[=(][\"']([a-z]+)[\"']")
    return {name for one in modules("libs", "services") for name in pattern.findall(one.text)}
