"""`lockstep format`: what it writes, and that it comes to rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Lockstep


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_the_command_keeps_line_ends_and_tests(
    lockstep: Lockstep, tmp_path: Path, ends: bytes
) -> None:
    """It comes to rest after once; a comment that looks like a test is laid out."""
    file = tmp_path / "app.siddhi"
    text = b"""--- tests stand below
define stream S   (k string);
-- why
from S   select k insert into O;
--- test: as   it is
S -   a
"""
    file.write_bytes(text.replace(b"\n", ends))
    assert lockstep("format", "--check", file).exit_code == 1
    assert lockstep("format", file).exit_code == 0
    wanted = text.replace(b"S   (", b"S (").replace(b"S   s", b"S s").replace(b"O;", b"O;\n")
    assert file.read_bytes() == wanted.replace(b"\n", ends)
    assert lockstep("format", "--check", file).exit_code == 0
