"""What is published: a wheel of the two packages alone, with the files that they read."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"lockstep": ROOT / "libs", "lockstep_services": ROOT / "services"}
READ_AT_RUN_TIME = (
    "lockstep/cli/demo/flights.siddhi",
    "lockstep/py.typed",
    "lockstep/samples/hot_rooms.siddhi",
    "lockstep/samples/hot_rooms.test",
    "lockstep/settings/defaults.toml",
    "lockstep/siddhiql/grammar.lark",
    "lockstep/store/postgres/migrations/0001_initial.sql",
    "lockstep_services/presenter/static/page.html",
    "lockstep_services/py.typed",
)


def build(what: str, source: Path, target: Path) -> Path:
    """A wheel or an sdist of a tree, by the build backend itself: that needs no network."""
    code = f"import sys, hatchling.build as b; print(b.build_{what}(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, target],
        cwd=source, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return target / done.stdout.splitlines()[-1]


def names(wheel: Path) -> set[str]:
    """The files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_has_two_packages(wheel: Path) -> None:
    """No tests, and nothing whose name could be somebody else's."""
    metadata = f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info"
    assert {name.partition("/")[0] for name in names(wheel)} == {*PACKAGES, metadata}


def test_everything_below_the_packages_is_in_the_wheel(wheel: Path) -> None:
    """Code, samples, grammar, settings, pages of the presenter, migrations; nothing compiled."""
    found = names(wheel)
    assert not set(READ_AT_RUN_TIME) - found
    for package, folder in PACKAGES.items():
        files = {
            str(path.relative_to(folder))
            for path in (folder / package).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert {name for name in found if name.startswith(f"{package}/")} == files


def test_the_wheel_says_what_it_needs(wheel: Path) -> None:
    """The command, the services, and the extras that run the suite on one machine."""
    with zipfile.ZipFile(wheel) as archive:
        info = {name.rpartition("/")[2]: name for name in archive.namelist() if "-info/" in name}
        metadata = archive.read(info["METADATA"]).decode()
        entry_points = archive.read(info["entry_points.txt"]).decode()
    assert {"Provides-Extra: demo", "Provides-Extra: embedded"} <= set(metadata.splitlines())
    assert "lockstep = lockstep.cli:main" in entry_points
    assert "[lockstep.services]" in entry_points


def test_the_sdist_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    """With the tests beside it, and without what Git ignores."""
    sdist = build("sdist", ROOT, tmp_path)
    shutil.unpack_archive(sdist, tmp_path)
    tree = tmp_path / sdist.name.removesuffix(".tar.gz")
    assert (tree / "tests" / "conftest.py").exists()
    assert not (tree / ".venv").exists()
    assert names(build("wheel", tree, tmp_path)) == names(wheel)
