"""What the suite keeps in files is not for apps: no source, sink or database of theirs opens it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockstep.clock import VirtualClock
from lockstep.connectors.file.listening import FolderSource
from lockstep.connectors.file.source import FileSource
from lockstep.databases import DatasourceError, datasource_for, datasource_of_url
from lockstep.frame.closing import close_own_files
from lockstep.mapping import MessageWriter
from lockstep.secrets import Vault, closed, is_closed
from lockstep.settings import load_settings
from lockstep.sources import Place
from lockstep_services.publisher.contract import SinkBinding, SinkSetupError
from lockstep_services.publisher.sinks.files import FilesLane
from tests.unit.services.publisher.parts import row, sink_of
from tests.unit.services.test_own_database import setup_of

PLACE = Place("Spy", "S", 0, "127.0.0.1", VirtualClock())


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of secrets that the settings name, with one of the app Bank."""
    monkeypatch.setattr(closed, "_closed", frozenset())
    folder = tmp_path / "secrets"
    (folder / "Bank").mkdir(parents=True)
    (folder / "Bank" / "key").write_text("TOP\n")
    (tmp_path / "door.pem").write_text("")
    (tmp_path / "token").write_text("")
    close_own_files(
        load_settings(
            {
                "LOCKSTEP_SECRETS__FOLDER": str(folder),
                "LOCKSTEP_SERVER__TLS_CERTIFICATE_FILE": str(tmp_path / "door.pem"),
                "LOCKSTEP_ARCHIVE__FOLDER": "s3://bucket/prefix",
            }
        ),
        {"LOCKSTEP_SERVER__TOKEN_FILE": str(tmp_path / "token")},
    )
    yield folder
    assert (folder / "Bank" / "key").read_text() == "TOP\n"


def test_what_the_settings_name_is_closed(secrets: Path, tmp_path: Path) -> None:
    """By whatever way; the folders around it stay open."""
    (tmp_path / "link").symlink_to(secrets / "Bank")
    for path in (
        secrets, secrets / "Bank" / "key", tmp_path / "link" / "key", secrets / "new",
        tmp_path / "x" / ".." / "secrets" / "a", tmp_path / "door.pem", tmp_path / "token",
        "/proc/self/environ", f"/proc/{os.getpid()}/environ",
        f"/proc/self/root{secrets}/Bank/key",
    ):  # fmt: skip
        assert is_closed(path), path
    for path in (tmp_path, tmp_path / "secrets.txt", tmp_path / "other", "/proc/loadavg"):
        assert not is_closed(path), path


def test_no_source_reads_it(secrets: Path, tmp_path: Path) -> None:
    """Nor moves something there, nor tells what is in it."""
    with pytest.raises(ValueError, match="not for apps"):
        FileSource({"file.uri": f"file:{secrets}/Bank/key"}, PLACE)
    with pytest.raises(ValueError, match="not for apps"):
        FileSource({"dir.uri": f"file:{secrets}/Bank"}, PLACE)
    with pytest.raises(ValueError, match="not for apps"):
        FileSource({"dir.uri": str(tmp_path), "move.after.process": str(secrets)}, PLACE)
    with pytest.raises(ValueError, match="not for apps"):
        FolderSource({"dir.uri": f"file:{secrets}"}, PLACE)


async def test_no_source_follows_a_link_there(secrets: Path, tmp_path: Path) -> None:
    """A folder may hold one, or get one later."""
    (tmp_path / "in").mkdir()
    source = FileSource({"dir.uri": str(tmp_path / "in")}, PLACE)
    (tmp_path / "in" / "a").symlink_to(secrets / "Bank" / "key")
    with pytest.raises(OSError, match="not for apps"):
        await source.read(max_messages=1, wait_ms=0)


@pytest.mark.parametrize("name", ["Bank/key", "{{k}}/key", "Bank/{{k}}"])
def test_no_sink_writes_there(secrets: Path, name: str) -> None:
    """Whether the row says the file or the text."""
    text = f"@sink(type='file', file.uri='file:{secrets}/{name}') define stream S (k string);"
    with pytest.raises(SinkSetupError, match="not for apps"):
        setup_of(text, Vault(""))


async def test_no_row_leads_there(secrets: Path, tmp_path: Path) -> None:
    """A name that a row makes is looked at; rows of other files are written."""
    options = {"file.uri": f"{tmp_path}/{{{{k}}}}/key"}
    schema, annotation = sink_of(
        f"@sink(type='file', file.uri='{options['file.uri']}', @map(type='json'))"
        " define stream S (k string, v int);"
    )
    lane = FilesLane(
        SinkBinding("Spy", schema, "S.0.file"), MessageWriter(schema, annotation), options
    )
    await lane.open()
    refused = await lane.send([row(1, "secrets", 1), row(2, "fine", 2)])
    await lane.close()
    assert [(one.row.id.position, "not for apps" in one.reason) for one in refused] == [(1, True)]
    assert (tmp_path / "fine" / "key").is_file()
    assert sorted(os.listdir(secrets)) == ["Bank"]


def test_no_database_is_opened_there(secrets: Path) -> None:
    """Of an app. One that the settings name is its operator's choice."""
    url = f"jdbc:sqlite:{secrets}/Bank/key"
    with pytest.raises(DatasourceError, match="not for apps"):
        datasource_for({"jdbc.url": url}.get, {}, "")
    known = {"own": datasource_of_url("own", url)}
    assert datasource_for({"datasource": "own"}.get, known, "").kind == "sqlite"
