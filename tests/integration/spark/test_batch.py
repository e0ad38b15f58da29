"""Scripts over a real archive on a real Spark: the samples, and what is new to each run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive, Upkeep, keep_up
from lockstep.archive.naming import INPUT, Logs
from lockstep.archive.place import Place
from lockstep.batch.checking import misread_elsewhere
from lockstep.batch.child import rows_of as rows_of_task
from lockstep.batch.header import SUFFIXES, Language, header_of
from lockstep.batch.marks import marks_of
from lockstep.batch.model import Run, Version
from lockstep.batch.running import Workplace
from lockstep.batch.task import Task
from lockstep.batch.views import Batch
from lockstep.cli.commands.samples import FOLDER
from lockstep.clock import SystemClock
from lockstep.events import EventsRecord, InputEvent
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.spark.bulk import QueryRefusedError
from lockstep.history.asking import History
from lockstep.plan import plan_of
from lockstep.settings import load_settings

TEXT = (FOLDER / "visits.siddhi").read_text()
SQL = (FOLDER / "batch" / "daily_summary.sql").read_text()
BEGIN_MS = 1_700_000_000_000
pytestmark = pytest.mark.spark


class Clicks:
    """An archive that grows: a click a minute, by two visitors in turn, with one long pause."""

    def __init__(self, folder: Path) -> None:
        self.place = Place(str(folder))
        self.side = SideArchive(self.place, Logs("Visits", 3), INPUT)
        self.schemas = plan_of(TEXT).schemas
        self.count = 0

    def more(self, count: int) -> None:
        """So many are archived, in commits of three."""
        entries = []
        for number in range(self.count, self.count + count):
            pause_ms = 3_600_000 if number >= 10 else 0
            at_ms = BEGIN_MS + number * 60_000 + pause_ms
            event = InputEvent(at_ms, (f"v{number % 2}", f"/{number % 3}"))
            record = EventsRecord("Click", at_ms, ((event,),))
            entries.append(EncodedEntry(number + 1, encode_record(record, self.schemas)))
        for start in range(0, count, 3):
            self.side.write(rows_of(entries[start : start + 3]))
        self.count += count

    def put_together(self) -> None:
        """Small files become one."""
        sum(
            keep_up(self.side, lambda _: None, None, 0, file_bytes=1_000_000, keep_ms=3_600_000),
            Upkeep(),
        )


@pytest.fixture
def clicks(tmp_path: Path, spark_env: None) -> Clicks:
    """Empty."""
    return Clicks(tmp_path / "archive")


def task(text: str, language: Language = Language.SQL) -> Task:
    """As the publisher tells it."""
    return Task("s", language, text, 60_000, 0, {}, {}, "", 1_000, 10**8)


def test_each_archived_row_is_new_to_exactly_one_run(clicks: Clicks) -> None:
    """However the archive grows between two runs or while one is under way, and whatever is put
    together: the increments are the whole, and none has what another has."""
    settings = load_settings({"LOCKSTEP_SPARK__MASTER": "local[2]"})
    history = History(clicks.place, settings)
    clicks.more(4)
    after: dict[str, int] = {}
    seen: list[int] = []
    for more, later in ((0, 5), (3, 4), (0, 0), (8, 2)):
        clicks.more(more)
        up_to = marks_of(clicks.place)
        clicks.more(later)  # while the run is under way
        clicks.put_together()
        batch = Batch(history, 60_000, 0, after, up_to)
        for _ in range(2):  # a run that is begun again sees the same
            asked = "select _position from new_Click union all select _position from new_Click"
            found = rows_of_task(task(asked), batch).column(0).to_pylist()
        assert sorted(found) == sorted([*range(_last(after) + 1, _last(up_to) + 1)] * 2)
        whole = rows_of_task(task("select count(*) as n from Click"), batch).to_pylist()
        assert whole == [{"n": _last(up_to)}]
        seen += sorted(set(found))
        after = up_to
    assert seen == [*range(1, clicks.count - 2 + 1)]
    with pytest.raises(QueryRefusedError):
        rows_of_task(task("select nothing from new_Click"), batch)


def _last(marks: dict[str, int]) -> int:
    return max(marks.values(), default=0)


@pytest.mark.timeout(900)  # three JVMs start, one after another
async def test_the_samples_in_processes_of_their_own(clicks: Clicks) -> None:
    """Read by Spark's parser, and run: SQL with a parameter, and PySpark with windows."""
    given = {"LOCKSTEP_SPARK__MASTER": "local[2]", "LOCKSTEP_ARCHIVE__FOLDER": clicks.place.folder}
    settings = load_settings(given)
    clicks.more(14)
    texts = [SQL, "-- x\nselect 1 frm\n t where", "drop table t"]
    taken, wrong, command = await misread_elsewhere(texts, timeout_ms=300_000)
    assert taken is None
    assert wrong is not None
    assert (wrong.line, wrong.column) == (3, 2)
    assert command is not None
    found = {}
    for file in sorted(one for one in (FOLDER / "batch").iterdir() if one.is_file()):
        language = SUFFIXES[file.suffix]
        header = header_of(file.read_text(), language, file.stem)
        version = Version(header.name, 1, "d", language, file.read_text(), 0)
        run = Run(header.name, 1, "d", BEGIN_MS, after={}, up_to=marks_of(clicks.place))
        outcome = await Workplace(settings, SystemClock()).outcome(run, version, 300_000)
        assert outcome.rows is not None, outcome
        found[header.name] = outcome.rows.to_pylist()
    summary: list[Any] = found["daily_summary"]
    assert [(row["page"], row["clicks"]) for row in summary] == [("/0", 5), ("/1", 5), ("/2", 4)]
    assert {row["visitors"] for row in summary} == {2}
    (sessions,) = found["sessions"]
    assert (sessions["visits"], sessions["visitors"], sessions["mean_clicks"]) == (4, 2, 3.5)
    assert sessions["longest_ms"] == 8 * 60_000
