"""The past asked by Spark SQL, and a back-test as a Spark job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from pyarrow import csv, parquet
from typer.testing import CliRunner, Result

from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive, Upkeep, keep_up
from lockstep.archive.naming import INPUT, OUTPUT, Logs
from lockstep.archive.place import Place
from lockstep.archive.rows_out import Published, published_rows
from lockstep.cli.command import app as command
from lockstep.events import EventsRecord, InputEvent, OutputRecord, UnavailableError
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.in_process import InProcessExecutor
from lockstep.execute.observe import Observe
from lockstep.execute.spark.bulk import QueryRefusedError, run_tasks
from lockstep.execute.spark.session import SparkOptions
from lockstep.execute.spark.streamed import Streamed
from lockstep.history.asking import History, answered, streamed
from lockstep.history.backtest import Wanted, backtest
from lockstep.history.errors import HistoryError
from lockstep.plan import plan_of
from lockstep.settings import load_settings
from tests.s3.server import s3_server

TEXT = """
@app:name('Doubles')
define stream In (k string, v int);
@sink(type='log') define stream Out (k string, total long);
partition with (k of In) begin
  from In select k, sum(v) as total insert into Out;
end;
"""
SETTINGS = load_settings({"LOCKSTEP_SPARK__MASTER": "local[2]"})
pytestmark = pytest.mark.spark


@pytest.fixture
def place(tmp_path: Path, spark_env: None) -> Place:
    """In a folder."""
    return written(Place(str(tmp_path)))


def written(place: Place, batch: int = 10) -> Place:
    """Two hundred events, and what came of them."""
    plan = plan_of(TEXT)
    entries = []
    for at in range(100):
        events = tuple(InputEvent(1_700_000_000_000 + at, (f"k{i}", at)) for i in range(2))
        record = EventsRecord("In", 1_700_000_000_000 + at, (events,))
        entries.append(EncodedEntry(at + 1, encode_record(record, plan.schemas)))
    logs = Logs("Doubles", 3)
    into = SideArchive(place, logs, INPUT)
    for start in range(0, 100, batch):
        into.write(rows_of(entries[start : start + batch]))
    rows = InProcessExecutor(plan, observe=Observe.NOTHING).run_encoded(entries).rows
    record_out = OutputRecord(1, rows)
    SideArchive(place, logs, OUTPUT).write(published_rows([Published(1, record_out)], 0))
    return place


def test_asking(place: Place) -> None:
    """Views are named as the streams; files put together meanwhile change no answer."""
    history = History(place, SETTINGS)
    asked = "select k, count(*) as n, max(v) as top from In group by k order by k"
    expected = [{"k": "k0", "n": 100, "top": 99}, {"k": "k1", "n": 100, "top": 99}]
    frame = history.stream("Doubles", "Out")
    for name in (INPUT, OUTPUT):
        side = SideArchive(place, Logs("Doubles", 3), name)
        sum(
            keep_up(side, lambda _: None, None, 0, file_bytes=1_000_000, keep_ms=3_600_000),
            Upkeep(),
        )
    assert answered(history, asked, None, 10).to_pylist() == expected
    assert frame.count() == 200
    times = "select count(*) as n from Doubles__Out__out where _time >= '2023-11-14'"
    assert answered(history, times, None, 10).to_pylist() == [{"n": 200}]
    assert len(answered(history, "select * from Out", "Doubles", 7)) == 7


def test_what_cannot_be_asked(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    """Errors say what is wrong, once, and leave nothing where the asker is."""
    history = History(place, SETTINGS)
    with pytest.raises(QueryRefusedError, match="Nowhere"):
        answered(history, "select * from Nowhere", None, 1)
    assert "Nowhere" not in capfd.readouterr().err
    with pytest.raises(QueryRefusedError, match="yntax error at or near 'selec'"):
        answered(history, "selec * from In", None, 1)
    with pytest.raises(HistoryError, match="no stream 'Nowhere'"):
        history.stream("Doubles", "Nowhere")
    assert not Path("spark-warehouse").exists()


MANY = "select /*+ REPARTITION(200) */ a.v as v, b.v as w from In a, In b, In c"
"""Eight million rows in two hundred partitions."""


def asked(monkeypatch: pytest.MonkeyPatch, place: Place, *arguments: str) -> Result:
    """What the command says."""
    monkeypatch.setenv("LOCKSTEP_ARCHIVE__FOLDER", place.folder)
    monkeypatch.setenv("LOCKSTEP_SPARK__MASTER", "local[2]")
    return CliRunner().invoke(command, ["archive", "query", *arguments])


def test_nothing_is_cut_silently(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed has a limit; standard error says so where rows were cut, and only there."""
    whole = asked(monkeypatch, place, "select v from In", "--limit", "200", "--json")
    assert (whole.exit_code, whole.stdout.count('"v"'), whole.stderr) == (0, 200, "")
    cut = asked(monkeypatch, place, "select v from In", "--limit", "199", "--json")
    assert (cut.exit_code, cut.stdout.count('"v"')) == (0, 199)
    assert cut.stderr == "cut after 199 rows: `--export rows.parquet` has them all\n"
    crossed = "select a.v from In a, In b"
    assert asked(monkeypatch, place, crossed).stderr.startswith("cut after 1000 rows: ")


def test_an_export_has_all_rows(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In the order that was asked for, unless a limit was; an empty answer is a file, too."""
    file = tmp_path / "all.parquet"
    crossed = "select a.v * 1000 + b.v as n from In a, In b where a.k = 'k0' order by n desc"
    said = asked(monkeypatch, place, crossed, "--export", str(file))
    assert (said.exit_code, said.stderr) == (0, "")
    values = parquet.read_table(file).column("n").to_pylist()
    pairs = [a * 1000 + b for a in range(100) for b in range(100) for _ in range(2)]
    assert values == sorted(pairs, reverse=True)
    file = tmp_path / "some.csv"
    said = asked(monkeypatch, place, crossed, "--export", str(file), "--limit", "150")
    assert said.stderr == "cut after 150 rows: without --limit, all are exported\n"
    assert csv.read_csv(file).column("n").to_pylist() == values[:150]
    said = asked(monkeypatch, place, "select v from In where v < 0", "--export", str(file))
    assert (said.exit_code, file.read_text("utf-8")) == (0, '"v"\n')


def test_the_rows_of_an_export_come_in_pieces(place: Place) -> None:
    """The driver never holds all: the first rows are there while most tasks are still to do."""
    told: list[tuple[int, int]] = []
    found = streamed(
        History(place, SETTINGS), MANY, None, None, lambda *numbers: told.append(numbers)
    )
    first = next(iter(found))
    assert (first.num_rows > 0, found.schema.names) == (True, ["v", "w"])
    assert told
    assert all(0 <= done <= known for done, known in told)
    context = History(place, SETTINGS).session.sparkContext
    found.call_off()
    assert stops(found)
    assert not context.statusTracker().getActiveJobsIds()


def stops(found: Streamed) -> bool:
    """Whether the work ends once it is called off."""
    found._worker.join(timeout=60)
    return not found._worker.is_alive()


def test_ctrl_c_calls_a_query_off(place: Place, tmp_path: Path) -> None:
    """A real process that exports: it says so, exits with 130 and leaves nothing half-written."""
    folder = tmp_path / "exports"
    folder.mkdir()
    environment = {
        **os.environ, "LOCKSTEP_ARCHIVE__FOLDER": place.folder,
        "LOCKSTEP_SPARK__MASTER": "local[2]",
    }  # fmt: skip
    line = [sys.executable, "-c", "from lockstep.cli import main; main()", "archive", "query", MANY]
    process = subprocess.Popen(
        [*line, "--export", str(folder / "many.csv")],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    part = folder / ".many.csv.part"
    while process.poll() is None and not (part.exists() and part.stat().st_size > 0):
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, "", "the query is called off\n")
    assert list(folder.iterdir()) == []


def test_a_back_test_is_one_job(place: Place) -> None:
    """With a task per partition, and the same rows."""
    run = partial(run_tasks, options=SparkOptions(master="local[2]"))
    report = backtest(Wanted(TEXT, parallel=3), place, SETTINGS, run, uuid4().hex)
    found = report.compared
    assert found is not None
    assert report.tasks == 3
    assert (found.same, found.missing, found.other) == (200, 0, 0)


def test_asking_a_store_of_s3(spark_env: None) -> None:
    """Spark's tasks read the files over S3, with the keys that the settings have."""
    with s3_server() as server:
        settings = load_settings({**server.settings, "LOCKSTEP_SPARK__MASTER": "local[2]"})
        history = History(settings=settings)
        written(history.place, 50)
        asked = "select k, count(*) as n, max(v) as top from In group by k order by k"
        expected = [{"k": "k0", "n": 100, "top": 99}, {"k": "k1", "n": 100, "top": 99}]
        assert answered(history, asked, None, 10).to_pylist() == expected
        server.stop()
        with pytest.raises(UnavailableError, match="the archive is away"):
            answered(history, asked, None, 10)
