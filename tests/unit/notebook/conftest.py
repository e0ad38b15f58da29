"""A real IPython shell with the extension, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


@dataclass(frozen=True, slots=True)
class Cell:
    """What came of a cell: text and HTML of what was shown, all that was printed, the error."""

    text: str
    html: str
    printed: str
    error: BaseException | None


Run = Callable[[str], Cell]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """Fresh; nothing of it is kept."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "lockstep.notebook")
    yield made
    if made.history_manager is not None:
        made.history_manager.end_session()
    InteractiveShell.clear_instance()


@pytest.fixture
def run(shell: InteractiveShell) -> Run:
    """Runs a cell as somebody would."""

    def done(cell: str) -> Cell:
        with capture_output() as seen:
            result = shell.run_cell(cell)
        data: list[dict[str, Any]] = [one.data for one in seen.outputs]
        return Cell(
            "".join(one.get("text/plain", "") for one in data),
            "".join(one.get("text/html", "") for one in data),
            seen.stdout + seen.stderr,
            result.error_in_exec,
        )

    return done
