"""`lockstep validate` and `lockstep explain`: positions, hints, exit codes."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pytest

from lockstep.plan.fleet import assembly
from tests.unit.cli.conftest import Lockstep

GOOD = "@app:name('Good')\ndefine stream S (room string, celsius double);\nfrom S[celsius > 30.0] select room insert into Hot;\n"  # noqa: E501
LONG = "select " + ", ".join(f"room as room_number_{n}" for n in range(20))


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A valid app."""
    file = tmp_path / "good.siddhi"
    file.write_text(GOOD)
    return file


def test_a_valid_app(lockstep: Lockstep, app: Path) -> None:
    """Its name; exit code 0."""
    done = lockstep("validate", app)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"{app}: ok (Good)\n"


def test_a_mistake_is_pointed_at(lockstep: Lockstep, app: Path) -> None:
    """File, line, column, what is wrong, the line, a mark below it, and a hint."""
    app.write_text(GOOD.replace("[celsius", "[celcius"))
    done = lockstep("validate", app)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"{app}:3:8: 'celcius' is not an attribute of S",
        "  from S[celcius > 30.0] select room insert into Hot;",
        "         ^",
        "  hint: did you mean 'celsius'?",
    ]


def test_the_mark_stands_right_behind_tabs(lockstep: Lockstep, app: Path) -> None:
    """A tab is one column, in the position and on the screen."""
    app.write_text(GOOD.replace("from S[", "\tfrom\tS[\t").replace("celsius >", "celcius >"))
    _, line, mark, _ = lockstep("validate", app).stderr.splitlines()
    assert line == "   from S[ celcius > 30.0] select room insert into Hot;"
    assert line[mark.index("^") :].startswith("celcius")


def test_long_lines_are_not_broken(lockstep: Lockstep, app: Path) -> None:
    """A mark below a wrapped line would point nowhere."""
    app.write_text(GOOD.replace("select room", f"{LONG}, rom"))
    _, line, mark, _ = lockstep("validate", app).stderr.splitlines()
    assert len(line) > 400
    assert line[mark.index("^") :].startswith("rom insert")


def test_lines_of_windows(lockstep: Lockstep, app: Path) -> None:
    """CRLF does not move anything."""
    app.write_bytes(GOOD.replace("[celsius", "[celcius").replace("\n", "\r\n").encode())
    done = lockstep("validate", app)
    assert f"{app}:3:8:" in done.stderr
    assert "\r" not in done.stderr


def test_several_files(lockstep: Lockstep, app: Path) -> None:
    """Each is checked; one mistake fails them all."""
    bad = app.with_name("bad.siddhi")
    bad.write_text("define stream S (room strin);")
    done = lockstep("validate", bad, app)
    assert done.exit_code == 2
    assert "ok (Good)" in done.stdout
    assert f"{bad}:1:23:" in done.stderr


def test_as_json(lockstep: Lockstep, app: Path) -> None:
    """What an editor wants to know."""
    bad = app.with_name("bad.siddhi")
    bad.write_text(GOOD.replace("[celsius", "[celcius"))
    done = lockstep("validate", "--json", app, bad)
    assert done.exit_code == 2
    assert json.loads(done.stdout) == [
        {"file": str(app), "valid": True, "app": "Good"},
        {
            "file": str(bad),
            "valid": False,
            "line": 3,
            "column": 8,
            "message": "'celcius' is not an attribute of S",
            "hint": "did you mean 'celsius'?",
        },
    ]


def test_tests_behind_an_app_are_no_part_of_it(lockstep: Lockstep, app: Path) -> None:
    """A file may hold both."""
    app.write_text(GOOD + "\n--- test: hot\nS - attic 31.0\n")
    assert lockstep("validate", app).exit_code == 0
    assert lockstep("explain", app).exit_code == 0


@pytest.mark.parametrize("command", ["validate", "explain"])
def test_files_that_are_no_texts(lockstep: Lockstep, tmp_path: Path, command: str) -> None:
    """Bytes, folders, nothing at all: exit code 2, no stack trace."""
    file = tmp_path / "bytes.siddhi"
    file.write_bytes(b"\xff\xfe\x00")
    for wrong in (file, tmp_path, tmp_path / "nowhere.siddhi"):
        done = lockstep(command, wrong)
        assert done.exit_code == 2
        assert done.stderr
        assert done.exception is None or isinstance(done.exception, SystemExit)


def test_a_file_that_is_no_text_is_one_of_the_report(lockstep: Lockstep, app: Path) -> None:
    """Those behind it are checked, and a program gets its JSON."""
    file = app.with_name("bytes.siddhi")
    file.write_bytes(b"\xff\xfe\x00")
    done = lockstep("validate", file, app)
    assert (done.exit_code, done.stdout) == (2, f"{app}: ok (Good)\n")
    assert done.stderr == f"{file} is no text in UTF-8\n"
    done = lockstep("validate", "--json", app, file, app)
    assert done.exit_code == 2
    reports = json.loads(done.stdout)
    assert [one["valid"] for one in reports] == [True, False, True]
    assert reports[1]["message"] == f"{file} is no text in UTF-8"
    assert reports[1]["line"] is None


@pytest.mark.parametrize("command", ["validate", "explain", "format"])
def test_the_mark_of_editors_on_windows(lockstep: Lockstep, app: Path, command: str) -> None:
    """A byte order mark at the beginning is no part of the app, nor of its values."""
    app.write_text("\ufeff" + GOOD, "utf-8")
    values = app.with_name("values")
    values.write_text("\ufeffROOM=attic\n", "utf-8")
    more = () if command == "format" else ("--values", values)
    done = lockstep(command, app, *more)
    assert (done.exit_code, done.stderr) == (0, "")


def test_explain_shows_groups_and_queries(lockstep: Lockstep, app: Path) -> None:
    """Each query with what it reads, does and writes."""
    done = lockstep("explain", app)
    assert done.exit_code == 0
    assert "app Good" in done.stdout
    assert "S -> " in done.stdout
    assert "-> Hot" in done.stdout


def test_explain_shows_what_runs_a_query(lockstep: Lockstep, app: Path) -> None:
    """By a rule in columns, or on the reference and why; the same for programs."""
    behind = "#window.length(2)#str:tokenize(room, ' ')"
    app.write_text(GOOD + f"from S{behind} select token insert into Coldest;\n")
    done = lockstep("explain", app)
    assert "      in columns: filter, project, running aggregates" in done.stdout
    assert "      on the reference: a stream function behind a window" in done.stdout
    assert "one job per slice, 1 of 2 queries in columns" in done.stdout
    told = json.loads(lockstep("explain", "--json", app).stdout)
    engines = [(query["query"], query["engine"], query["writes"]) for query in told["queries"]]
    assert engines == [("query_1", "columns", "Hot"), ("query_2", "reference", "Coldest")]
    assert told["queries"][1]["reason"].startswith("a stream function behind a window")
    assert told["spark_plan"] is None


def test_explain_shows_the_groups_of_a_fleet(lockstep: Lockstep, app: Path) -> None:
    """In so many partitions as are asked for."""
    done = lockstep("explain", "--parallel", "6", app)
    assert "in 6 partitions: 1 group" in done.stdout
    assert "whole, because" in done.stdout
    told = json.loads(lockstep("explain", "--parallel", "6", "--json", app).stdout)
    assert [group["name"] for group in told["fleet"]["groups"]] == ["main"]


def test_explain_refuses_a_fleet_whose_units_could_not_begin(
    lockstep: Lockstep, app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As deploying it would be refused."""
    app.write_text(GOOD.replace("room insert", "room, avg(celsius) as mean group by room insert"))
    assert lockstep("explain", "--parallel", "6", app).exit_code == 0
    monkeypatch.setattr(assembly, "group_text", lambda *_: "from S select room insert into Hot;")
    done = lockstep("explain", "--parallel", "6", app)
    assert done.exit_code == 2
    assert "its group 'by_room' would be no app by itself" in done.stderr
    assert lockstep("explain", app).exit_code == 0


def test_explain_points_at_mistakes_like_validate(lockstep: Lockstep, app: Path) -> None:
    """The same lines, the same exit code."""
    app.write_text(GOOD.replace("[celsius", "[celcius"))
    shown, explained = lockstep("validate", app), lockstep("explain", app)
    assert explained.exit_code == shown.exit_code == 2
    assert explained.stderr == shown.stderr


@pytest.mark.parametrize(
    ("query", "place", "message"),
    [
        ("from S[regex:matches('(', k)] select k insert into O;", "2:8", "regular expression"),
        ("from S select str:regexp(k, '(') as x insert into O;", "2:15", "regular expression"),
        ("from S select half(k) as x insert into O;", "1:45", "is no Python"),
    ],
)
def test_what_shows_when_an_app_starts(
    lockstep: Lockstep, app: Path, query: str, place: str, message: str
) -> None:
    """Patterns and Python bodies are looked at, too."""
    half = "define function half[python] return int { return data[0] / };"
    app.write_text(f"define stream S (k string); {half}\n{query}")
    done = lockstep("validate", app)
    assert done.exit_code == 2
    assert f"{app}:{place}: " in done.stderr
    assert message in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1:"),
        ("define stream S (a int)\nfrom S select a insert into O", "2:1:"),
        ("define stream S (a int); from S select b insert into O", "hint: there is a"),
        (
            "define stream S (a int); from S select summ(a) as b insert into O",
            "did you mean 'sum'?",
        ),
        ("define stream S (a int); from T select a insert into O", "hint: there is S"),
        (
            "define stream S (a int); from S#window.tme(5) select a insert into O",
            "did you mean 'time'?",
        ),
    ],
)
def test_every_mistake_has_a_place(lockstep: Lockstep, app: Path, text: str, message: str) -> None:
    """Line and column always, a hint where there is one."""
    app.write_text(text)
    done = lockstep("validate", app)
    assert done.exit_code == 2
    assert message in done.stderr


STORED = (
    "@app:name('Stored')\n@store(type='rdbms', jdbc.url='${DATABASE_URL}', username='${USER}',"
    " password='${secret:db}')\ndefine table T (room string); -- ${NOTE}\n"
)


def test_names_in_options_get_values(lockstep: Lockstep, tmp_path: Path) -> None:
    """From a file and from the command, which wins; what stands elsewhere may stay."""
    app, values = tmp_path / "stored.siddhi", tmp_path / "values"
    app.write_text(STORED)
    values.write_text("# of the test\nDATABASE_URL=jdbc:h2:mem\n\nUSER = ann\n")
    none = lockstep("validate", app)
    assert none.exit_code == 2
    assert "no value is given for ${DATABASE_URL}" in none.stderr
    assert "--set DATABASE_URL=…" in none.stderr
    wrong = lockstep("validate", app, "--values", values)
    assert "'jdbc.url' is 'jdbc:h2:mem'" in wrong.stderr
    url = "DATABASE_URL=jdbc:postgresql://db:5432/shop?a=b"
    done = lockstep("validate", app, "--values", values, "--set", url)
    assert (done.exit_code, done.stdout) == (0, f"{app}: ok (Stored)\n")


@pytest.mark.parametrize("given", ["NAME", "a b=c", "=x", "secret:db=x"])
def test_what_is_no_value_is_refused(lockstep: Lockstep, app: Path, given: str) -> None:
    """With where it stands."""
    done = lockstep("validate", app, "--set", given)
    assert (done.exit_code, "--set" in done.stderr) == (2, True)
    assert "is no NAME=VALUE" in done.stderr


def test_a_file_becomes_a_value(lockstep: Lockstep, tmp_path: Path) -> None:
    """Packed, in base64, the same for the same bytes; a missing one is told."""
    app, model = tmp_path / "app.siddhi", tmp_path / "a.bin"
    model.write_bytes(b"what" * 1_000)
    app.write_text("@app:name('${MODEL}') define stream S (a int); from S select a insert into O;")
    shown = lockstep("validate", app, "--set-file", f"MODEL={model}", "--json").stdout
    (report,) = json.loads(shown)
    assert gzip.decompress(base64.b64decode(report["app"])) == model.read_bytes()
    assert lockstep("validate", app, "--set-file", f"MODEL={model}", "--json").stdout == shown
    missing = lockstep("validate", app, "--set-file", "MODEL=nowhere")
    assert (missing.exit_code, "nowhere: No such file" in missing.stderr) == (2, True)
