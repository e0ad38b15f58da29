"""The past asked by Spark SQL, and a back-test as a Spark job."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive, keep_up
from lockstep.archive.naming import INPUT, OUTPUT, Logs
from lockstep.archive.place import Place
from lockstep.archive.rows_out import Published, published_rows
from lockstep.events import EventsRecord, InputEvent, OutputRecord, UnavailableError
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.in_process import InProcessExecutor
from lockstep.execute.spark.bulk import QueryRefusedError, run_tasks
from lockstep.execute.spark.session import SparkOptions
from lockstep.history.asking import History, answered
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
    rows = InProcessExecutor(plan, observe=False).run_encoded(entries).rows
    record_out = OutputRecord(1, rows)
    SideArchive(place, logs, OUTPUT).write(published_rows([Published(1, record_out)], 0))
    return place


def test_asking(place: Place) -> None:
    """Views are named as the streams; files put together meanwhile change no answer."""
    history = History(place, SETTINGS)
    asked = "select k, count(*) as n, max(v) as top from In group by k order by k"
    expected = [{"k": "k0", "n": 100, "top": 99}, {"k": "k1", "n": 100, "top": 99}]
    frame = history.stream("Doubles", "Out")
    for side in (INPUT, OUTPUT):
        keep_up(
            SideArchive(place, Logs("Doubles", 3), side), lambda _: None, None, 0,
            file_bytes=1_000_000, keep_ms=3_600_000,
        )  # fmt: skip
    assert answered(history, asked, None, 10).to_pylist() == expected
    assert frame.count() == 200
    times = "select count(*) as n from Doubles__Out__out where _time >= '2023-11-14'"
    assert answered(history, times, None, 10).to_pylist() == [{"n": 200}]
    assert len(answered(history, "select * from Out", "Doubles", 7)) == 7


def test_what_cannot_be_asked(place: Place) -> None:
    """Errors say what is wrong, and leave nothing where the asker is."""
    history = History(place, SETTINGS)
    with pytest.raises(QueryRefusedError, match="Nowhere"):
        answered(history, "select * from Nowhere", None, 1)
    with pytest.raises(HistoryError, match="no stream 'Nowhere'"):
        history.stream("Doubles", "Nowhere")
    assert not Path("spark-warehouse").exists()


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
