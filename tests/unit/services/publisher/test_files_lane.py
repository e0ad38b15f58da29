"""The file sink with a file a name: what holds of one file holds of each, and no row leads out."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.events import UnavailableError
from lockstep.mapping import MessageWriter, build_distribution
from lockstep.secrets import Vault
from lockstep.siddhiql import ast, check
from lockstep.telemetry import get_logger
from lockstep_services.publisher.build import SinkFactory
from lockstep_services.publisher.contract import (
    Batch,
    RowsRefusedError,
    SinkBinding,
    SinkSetupError,
)
from lockstep_services.publisher.sinks import files
from lockstep_services.publisher.sinks.cursor import StoredCursorSink
from lockstep_services.publisher.sinks.files import FilesLane
from tests.unit.services.publisher.parts import Cursors, row, sink_of


def lane(folder: Path, name: str = "{{k}}.txt", kind: str = "csv") -> FilesLane:
    """A file sink as the publisher builds it."""
    uri = f"file:{folder}/{name}"
    schema, annotation = sink_of(
        f"@sink(type='file', file.uri='{uri}', @map(type='{kind}', header='true'))"
        " define stream S (k string, v int);"
    )
    binding = SinkBinding("A", schema, "S.0.file")
    return FilesLane(binding, MessageWriter(schema, annotation), {"file.uri": uri})


def sink(cursors: Cursors, folder: Path) -> StoredCursorSink:
    """With its cursor in a store."""
    schema, annotation = sink_of("@sink(type='file', file.uri='/x') define stream S (k string);")
    return StoredCursorSink(
        SinkBinding("A", schema, "S.0.file"), cursors, build_distribution(schema, annotation),
        [lane(folder)],
    )  # fmt: skip


def texts(folder: Path) -> dict[str, str]:
    """What stands in the files, without notes and locks."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in found
        if not path.name.startswith(".")
    }


async def test_each_file_has_its_rows_in_order_under_its_own_header(tmp_path: Path) -> None:
    """However names change from row to row; folders of the name are made."""
    written = lane(tmp_path, "{{k}}/{{v}}.csv")
    await written.open()
    rows = [row(1, "a", 1), row(2, "b", 1), row(3, "a", 1), row(4, "a", 2), row(5, "b", 1)]
    assert await written.send(rows[:3]) == []
    assert await written.send(rows[3:]) == []
    await written.close()
    assert texts(tmp_path) == {
        "a/1.csv": "k,v\na,1\na,1\n", "a/2.csv": "k,v\na,2\n", "b/1.csv": "k,v\nb,1\nb,1\n",
    }  # fmt: skip


async def test_more_names_than_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those not written to for longest are closed, and go on behind what they hold."""
    monkeypatch.setattr(files, "OPEN_FILES", 2)
    written = lane(tmp_path)
    await written.open()
    rows = [row(n, "abc"[n % 3], n) for n in range(1, 10)]
    for each in rows:
        await written.send([each])
        assert len(written._lanes) <= 2
    await written.send(rows)
    await written.close()
    assert texts(tmp_path) == {
        f"{k}.txt": "k,v\n" + "".join(f"{k},{n}\n" for n in range(1, 10) if "abc"[n % 3] == k)
        for k in "abc"
    }


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "/etc/x", "", ".hidden", "a\0b", "a\nb", "x" * 255, "\udcff\ud800"]
)
async def test_a_name_that_leads_out_is_refused_and_no_other_row_is(
    tmp_path: Path, name: str
) -> None:
    """It is the row's fault alone: nothing is written outside, nor under another name."""
    written = lane(tmp_path / "out", "{{k}}")
    await written.open()
    (refused,) = await written.send([row(1, "a", 1), row(2, name, 2), row(3, "b", 3)])
    await written.close()
    assert refused.row == row(2, name, 2)
    assert "file's name" in refused.reason
    assert texts(tmp_path) == {"out/a": "k,v\na,1\n", "out/b": "k,v\nb,3\n"}


@pytest.mark.parametrize("torn", ["a.txt", "b.txt"])
async def test_a_publisher_that_died_in_the_midst_of_one_file(tmp_path: Path, torn: str) -> None:
    """The batch comes again: the torn file is mended, the others take nothing twice."""
    rows = [row(1, "a", 1), row(2, "b", 2), row(3, "a", 3), row(4, "b", 4), row(5, "c", 5)]
    first = lane(tmp_path)
    await first.open()
    await first.send(rows[:2])
    await first.send(rows[2:])
    await first.close()
    whole = texts(tmp_path)
    with (tmp_path / torn).open("r+b") as file:
        file.truncate(len(whole[torn]) - 2)
    again = lane(tmp_path)
    await again.open()
    await again.send(rows[2:])
    await again.close()
    assert texts(tmp_path) == whole


async def test_a_publisher_that_was_replaced_writes_nothing_twice(tmp_path: Path) -> None:
    """Also into files that the other one has made meanwhile."""
    old, new = lane(tmp_path), lane(tmp_path)
    rows = [row(n, "ab"[n % 2], n) for n in range(1, 7)]
    await old.open()
    await old.send(rows[:3])
    await new.open()
    await old.send(rows[3:4])
    await new.send(rows[3:])
    await old.send(rows[3:])
    for each in (old, new):
        await each.close()
    assert texts(tmp_path) == {"a.txt": "k,v\na,2\na,4\na,6\n", "b.txt": "k,v\nb,1\nb,3\nb,5\n"}


async def test_a_file_that_is_away_holds_up_no_other(tmp_path: Path) -> None:
    """Its rows are those that are pending; given up or not, no other is taken twice."""
    cursors = Cursors()
    written = sink(cursors, tmp_path)
    (tmp_path / "b.txt").mkdir()
    await written.open()
    batch = Batch(3, [row(1, "a", 1), row(2, "b", 2), row(3, "c", 3)])
    with pytest.raises(UnavailableError, match=r"b\.txt"):
        await written.deliver(batch)
    assert list(written.pending(batch)) == [row(2, "b", 2)]
    assert cursors.puts == []
    assert not written.takes_again
    (tmp_path / "b.txt").rmdir()
    await written.deliver(batch)
    await written.close()
    assert cursors.kept == {written.binding.key: 3}
    assert texts(tmp_path) == {
        f"{k}.txt": f"k,v\n{k},{n}\n" for k, n in zip("abc", (1, 2, 3), strict=True)
    }


async def test_a_file_that_was_renamed_gives_its_header_to_no_other(tmp_path: Path) -> None:
    """The new one is empty, and gets none as long as no row is new to it."""
    written = lane(tmp_path)
    await written.open()
    await written.send([row(1, "a", 1), row(2, "b", 2)])
    (tmp_path / "b.txt").rename(tmp_path / "b.1")
    await written.send([row(2, "b", 2), row(3, "a", 3)])
    await written.send([row(4, "b", 4)])
    await written.close()
    assert texts(tmp_path) == {
        "a.txt": "k,v\na,1\na,3\n", "b.1": "k,v\nb,2\n", "b.txt": "k,v\nb,4\n",
    }  # fmt: skip


async def test_a_refused_row_is_put_aside_and_the_cursor_moves(tmp_path: Path) -> None:
    """The others of the batch are there when it comes again without it."""
    cursors = Cursors()
    written = sink(cursors, tmp_path)
    rows = [row(1, "a", 1), row(2, "../a", 2), row(3, "a", 3)]
    await written.open()
    with pytest.raises(RowsRefusedError) as refused:
        await written.deliver(Batch(3, rows))
    assert [each.row for each in refused.value.refused] == [rows[1]]
    assert cursors.puts == []
    await written.deliver(Batch(3, [rows[0], rows[2]]))
    await written.close()
    assert cursors.kept == {written.binding.key: 3}
    assert texts(tmp_path) == {"a.txt": "k,v\na,1\na,3\n"}


@pytest.mark.parametrize("name", ["{{k}}.txt", "all.txt"])
def test_a_folder_that_a_sample_leaves_open_is_asked_for(name: str) -> None:
    """Such an app is valid; its sink says what is left to write instead of making that folder."""
    text = f"@sink(type='file', file.uri='{{WSO2SPHome}}/out/{name}') define stream S (k string);"
    schema, annotation = sink_of(text)
    clock = VirtualClock()
    factory = SinkFactory(
        Cursors(), MemoryBus(MemoryCarrier(clock)).topics, get_logger(), datasources={},
        default_dsn="", max_connections=1, statement_timeout_ms=1_000, vault=Vault(""), clock=clock,
    )  # fmt: skip
    definition = check(text).app.definitions[0]
    assert isinstance(definition, ast.StreamDefinition)
    with pytest.raises(SinkSetupError, match=r"\{WSO2SPHome\} stands for a folder") as refused:
        factory.sink_of(SinkBinding("A", schema, "S.0.file"), annotation, definition)
    assert "write a folder" in (refused.value.hint or "")


async def test_a_log_that_begins_again(tmp_path: Path) -> None:
    """Its small identities are new to every file, also to those that are not open."""
    first = lane(tmp_path)
    await first.open()
    await first.send([row(7, "a", 1), row(8, "b", 1)])
    await first.close()
    written = lane(tmp_path)
    await written.open()
    await written.send([row(9, "b", 2)])
    written.begin_again()
    await written.send([row(1, "a", 2), row(2, "b", 3)])
    await written.close()
    assert texts(tmp_path) == {"a.txt": "k,v\na,1\na,2\n", "b.txt": "k,v\nb,1\nb,2\nb,3\n"}
