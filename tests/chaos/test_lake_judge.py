"""The judge of the archive can see: what is missing and what stands there twice is found."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import INPUT, OUTPUT, Logs
from lockstep.archive.place import Place
from lockstep.archive.rows_out import Published, published_rows
from lockstep.archive.tables import keys_where
from lockstep.events import (
    ClaimRecord,
    EventsRecord,
    InputEvent,
    OutputId,
    OutputLogRecord,
    OutputRecord,
    OutputRow,
)
from lockstep.events.codec import EncodedEntry, encode_record
from tests.archived_files import ArchivedFiles
from tests.chaos.archive import Archive, write_frame
from tests.chaos.judge import Verdict
from tests.chaos.lake_judge import judge_archived

INPUTS = [
    encode_record(EventsRecord("In", 5, ((InputEvent(5, (at,)), InputEvent(5, (at + 1,))),)))
    for at in range(4)
]
OUTPUTS: list[OutputLogRecord] = [
    ClaimRecord(1, "a", 5),
    *(OutputRecord(1, (OutputRow(OutputId(at, 0), "Out", 5, (at,)),)) for at in (1, 2, 4)),
]


class Run:
    """Two logs as they were copied, and an archive of them."""

    def __init__(self, directory: Path) -> None:
        self.copies = Archive(directory / "copies")
        self.lake = Place(str(directory / "lake"))
        self.write("")

    def write(self, writer: str, inputs: slice = slice(None), outputs: slice = slice(None)) -> None:
        """Archives parts; under another name nothing is known of what was written."""
        entries = [EncodedEntry(at + 1, one) for at, one in enumerate(INPUTS)]
        rows = [Published(at + 1, one) for at, one in enumerate(OUTPUTS)]
        for side, found in (
            (INPUT, rows_of(entries[inputs])),
            (OUTPUT, published_rows(rows[outputs], 5)),
        ):
            SideArchive(self.lake, Logs("A"), side, writer).write(found)

    def judged(self, *, inputs: int = 0, outputs: int = 0) -> Verdict:
        """With so many records more at the logs' ends."""
        for name, payloads in (
            ("input", INPUTS + INPUTS[:inputs]),
            ("output", [encode_record(one) for one in OUTPUTS + OUTPUTS[1 : 1 + outputs]]),
        ):
            with (self.copies.directory / name).open("wb") as file:
                for number, payload in enumerate(payloads):
                    write_frame(file, number + 1, payload)
        return judge_archived(ArchivedFiles(Path(self.lake.folder), "A"), self.copies, self.copies)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """As it should be."""
    return Run(tmp_path)


def test_a_good_archive(run: Run) -> None:
    """No complaint."""
    assert run.judged().ok


def test_a_position_that_is_not_archived(run: Run) -> None:
    """A record and its two events."""
    assert run.judged(inputs=1).archive_missing == 3


def test_a_row_that_is_not_archived(run: Run) -> None:
    """Its record, and itself."""
    assert run.judged(outputs=1).archive_missing == 2


def test_what_is_archived_twice(run: Run) -> None:
    """A record of each log, two events, a row."""
    run.write("again", slice(1, 2), slice(1, 2))
    verdict = run.judged()
    assert (verdict.archived_twice, verdict.archive_missing) == (5, 0)
    assert not verdict.ok


def test_an_event_in_the_place_of_another(run: Run) -> None:
    """As many as there should be, but one is there twice and one is missing."""
    ((_, table),) = SideArchive(run.lake, Logs("A"), INPUT).tables()
    first = next(batch for batch in table.scan(where=(pc.field("_position") == 2)))
    table.forget(keys_where(table, "_position = 2 and _row = 1", ("_position", "_row")))
    table.append(pa.Table.from_batches([first.slice(0, 1)]), "somebody else", 1)
    verdict = run.judged()
    assert (verdict.archived_twice, verdict.archive_missing) == (1, 1)
