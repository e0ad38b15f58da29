"""What expectations say and how they stand in a file: nothing that is wrong passes, and what
`--update` writes is read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.siddhiql.printing.names import string
from lockstep.testing.difference import differences
from lockstep.testing.files import run_file, run_paths
from lockstep.testing.play import play
from lockstep.testing.scenario import (
    Call,
    Scenario,
    ScenarioError,
    parse_file,
    render_file,
    split_tests,
)
from lockstep.testing.values import split_words
from lockstep.testing.written import written

APP = """define stream In (k string, v int);
@info(name='q') from In select k, v insert into Out;
"""
MESSAGES = """@sink(type='inMemory', topic='o', @map(type='{0}'))
define stream In (k string, v int);
"""


def wrong(app: str, test: str) -> list[str]:
    """How the only part of a test differs."""
    (scenario,) = parse_file(f"--- test\n{test}", app).scenarios
    return [found.text() for found in differences(scenario, play(scenario))]


@pytest.mark.parametrize("head", ["---test: misspelt", "In - a 1", "@watch Out", "  => q: C 0[a]"])
def test_what_stands_before_the_first_test_is_refused(head: str) -> None:
    """It would never be played; comments may stand there."""
    text = f"# why\n\n{head}\n--- test: second\nIn - a 1\n"
    with pytest.raises(ScenarioError, match="before the first test") as raised:
        parse_file(text, APP)
    assert raised.value.where == "line 3"
    assert len(parse_file("# why\n\n--- test: second\nIn - a 1\n", APP).scenarios) == 1


def test_a_watched_name_must_be_a_stream() -> None:
    """What is watched under a wrong name always stays empty."""
    (scenario,) = parse_file("--- test\n\n@watch In, Oot\nIn - a 1\n", APP).scenarios
    with pytest.raises(ScenarioError, match="no stream Oot") as raised:
        play(scenario)
    assert (raised.value.where, raised.value.hint) == ("line 3", "did you mean 'Out'?")
    more = "define trigger T at every 1 sec;\ndefine window W (k string) length(1);\n"
    assert play(parse_file("--- test\n@watch T W\n", more + APP).scenarios[0]) == []


@pytest.mark.parametrize(
    ("app", "expected", "is_right"),
    [
        (APP, "q: C 0[a  b, 1]", True),
        (APP, "q:  C  0[a  b,  1] ", True),
        (APP, "q: C 0[a b, 1]", False),
        (APP, "q: C 0[a   b, 1]", False),
        (MESSAGES.format("xml"), "<events><event><k>a  b</k><v>1</v></event></events>", True),
        (MESSAGES.format("xml"), "<events><event><k>a b</k><v>1</v></event></events>", False),
        (MESSAGES.format("json"), '{"event":{"k":"a  b","v":1}}', True),
        (MESSAGES.format("json"), '{"event":{"k":"a b","v":1}}', False),
    ],
)
def test_blanks_within_values_and_messages_count(app: str, expected: str, is_right: bool) -> None:
    """Those between events do not."""
    line = expected if app == APP else f"topic o: {expected}"
    assert (wrong(app, f"In - 'a  b' 1\n  => {line}\n") == []) is is_right


def test_a_query_may_have_blanks_in_its_name() -> None:
    """Blanks between its events do not count, either."""
    app = APP.replace("'q'", "'my query'").replace("In select", "In#window.length(1) select")
    app = app.replace("insert into", "insert all events into")
    calls = "In - a 1\n  => my query: C 0[a, 1]\nIn - b 2\n"
    assert wrong(app, f"{calls}  => my query: X 0[a, 1] C 0[b, 2]\n") == []
    assert len(wrong(app, f"{calls}  => my query: X 0[a, 1] C 0[b, 3]\n")) == 1


def test_each_event_has_the_time_that_is_written() -> None:
    """Also behind one that comes now."""
    call = "@advance 7\nIn - a 1 | 5000 b 2"
    assert wrong(APP, f"{call}\n  => q: C 7[a, 1] 5000[b, 2]\n") == []
    assert len(wrong(APP, f"{call}\n  => q: C 7[a, 1] 7[b, 2]\n")) == 1


def test_tests_in_the_app_and_beside_it_are_both_played(tmp_path: Path) -> None:
    """Given as the app, the folder, or the file beside it."""
    app, beside = tmp_path / "x.siddhi", tmp_path / "x.test"
    app.write_text(APP + "--- test: own\nIn - a 1\n  => q: C 0[a, 1]\n")
    beside.write_text("--- test: beside\nIn - a 1\n  => q: C 0[WRONG, 1]\n")
    told = [("own", True, None), ("beside", False, None)]
    for path in (app, tmp_path):
        assert [(one.title, one.passed, one.error) for one in run_paths([path])] == told
    assert [(one.title, one.error) for one in run_paths([beside])] == [("beside", None)]


def test_an_arrow_in_quotes_belongs_to_the_value() -> None:
    """Outside of them it begins what is expected, as ever."""
    assert wrong(APP, "In - 'a=>b' 1\n  => q: C 0[a=>b, 1]\n") == []
    assert wrong(APP, "In - 'a=>b' 1 => q: C 0[a=>b, 1]\n") == []
    assert wrong(APP, "In - it's 1 => q: C 0['it's', 1]\n") == []
    assert wrong(APP, """In - "it's =>" 1\n  => q: C 0['it's =>', 1]\n""") == []
    source = "@source(type='inMemory', topic='i', @map(type='json'))\n" + APP
    message = '@publish i {"event": {"k": "a => b", "v": 1}}'
    assert wrong(source, f"{message} => q: C 0[a => b, 1]\n") == []


def test_a_text_may_hold_both_kinds_of_quotes() -> None:
    """The kind that it stands in is doubled."""
    assert split_words("""'say "it''s"' '' "a""b" 'x'""") == [
        """'say "it''s"'""", "''", '"a""b"', "'x'",
    ]  # fmt: skip
    assert wrong(APP, """In - 'say "it''s"' 1\n  => q: C 0['say "it's"', 1]\n""") == []
    assert wrong(APP, """In - "say ""it's\"\"\" 1\n  => q: C 0['say "it's"', 1]\n""") == []


def test_a_message_of_several_lines_goes_on_behind_a_bar(tmp_path: Path) -> None:
    """Readable in the file; a difference shows it so, too."""
    file = tmp_path / "app.siddhi"
    text = MESSAGES.format("text") + "--- test\nIn - a 1\n"
    file.write_text(text)
    assert run_file(file, update=True)[0].rewritten
    told = '  => topic o: k:"a",\n   | v:1\n'
    assert file.read_text() == text + told
    assert run_file(file)[0].passed
    file.write_text(text + told.replace("v:1", "v:2"))
    assert "    - | v:2" in run_file(file)[0].text().split("\n")
    file.write_text(text + '  => topic o: k:"a", v:1\n')
    assert run_file(file)[0].passed, "as it had to be written once"
    file.write_text(text.replace("In - a 1\n", "In - a 1\n  | v:1\n"))
    assert "nothing goes on" in (run_file(file)[0].error or "")


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize(
    ("expected", "actual", "is_right"),
    [
        ("topic  out:  a", "topic out: a", True),
        ("topic out:\ta", "topic out: a", True),
        ("error:  no such", "error: no such", True),
        ("refused:   no such", "refused: no such", True),
        ("refused: no  such", "refused: no such", False),
        ("topic out: a  b", "topic out: a b", False),
        ("topic out: a:  b", "topic out: a: b", False),
        ("topic out: a  b", "topic out: a  b\nc:  d", False),
        ("topic out: l1 l2", "topic out: l1\n  l2", True),
        ("topic out: l1\nl2", "topic out: l1 l2", False),
        ("q: C 0[1, l1 l2]", "q: C 0[1, l1\nl2]", True),
        ("q: C 0[1, l1  l2]", "q: C 0[1, l1\nl2]", False),
        ("-> O: 0[l1 l2] 0[b]", "-> O: 0[l1\n l2] 0[b]", True),
        ("result: [l1 l2] [b]", "result: [l1\nl2]   [b]", True),
        ("fault: S 0[l1 l2]", "fault: S 0[l1\nl2] -- why", True),
    ],
)
def test_blanks_of_heads_and_line_breaks_of_values(
    expected: str, actual: str, is_right: bool, in_order: bool
) -> None:
    """The former do not count; for the latter a blank may stand, as it once had to."""
    call = Call(3, "In - a 1", expected=[expected])
    scenario = Scenario("", APP, [call])
    found = differences(scenario, [[actual]], in_order=in_order)
    assert (not found) is is_right


def test_a_line_break_is_a_blank_only_where_none_is_expected() -> None:
    """Lines that come as they are expected stay what they are, also beside one told in one."""
    call = Call(3, "In - a 1", expected=["q: C 0[a\nb]", "q: C 0[a b]"])
    scenario = Scenario("", APP, [call])
    assert differences(scenario, [["q: C 0[a\nb]", "q: C 0[a b]"]]) == []
    assert len(differences(scenario, [["q: C 0[a b]", "q: C 0[a\nb]"]])) == 1
    chunks = [["q: C 0[b] 0[l1\nl2]"]]
    scenario.calls[0].expected[:] = ["q: C 0[l1 l2] 0[b]"]
    assert len(differences(scenario, chunks)) == 1
    assert differences(scenario, chunks, in_order=False) == []


def test_a_query_with_line_breaks_in_its_values_passes_as_it_did() -> None:
    """Rows of queries, streams and on-demand queries that are expected in one line."""
    app = APP.replace("select k", 'select """l1\nl2""" as k')
    test = "@watch Out\nIn 0 a 1\n  => q: C 0[l1 l2, 1]\n  => -> Out: 0[l1 l2, 1]\n"
    assert wrong(app, test) == []
    assert len(wrong(app, test.replace("q: C 0[l1 l2", "q: C 0[l1  l2"))) == 1


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3))
def test_what_is_written_is_read_back(lines: list[str]) -> None:
    """Whatever stands in it; but for blanks at the ends."""
    lines = [f"topic o: {line}" for line in lines]
    parsed = parse_file("--- test\nIn - a 1\n", APP)
    rendered = render_file(parsed, [[lines]])
    # A reader of texts takes each of these for the end of a line.
    read = rendered.replace("\r\n", "\n").replace("\r", "\n")
    (scenario,) = parse_file(read, APP).scenarios
    assert scenario.calls[0].expected == [line.strip() for line in lines]
    assert render_file(parse_file(read, APP), [[lines]]) == rendered
    rendered.encode()


@pytest.mark.parametrize("mapper", ["text", "json", "xml"])
@settings(max_examples=20)
@given(
    value=st.text(
        st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1
    ).filter(lambda text: '"""' not in text and not text.endswith('"'))
)
def test_after_update_a_run_passes(
    tmp_path_factory: pytest.TempPathFactory, mapper: str, value: str
) -> None:
    """Of queries and messages whose values hold anything."""
    file = tmp_path_factory.mktemp("update") / "app.siddhi"
    value = value.replace("\r", "\n") + "\n"  # as the app's text is read
    file.write_text(
        MESSAGES.format(mapper).replace("In (k", "Out (k")
        + "define stream In (k string, v int);\n"
        + f"@info(name='q') from In select str:concat(k, {string(value)}) as k, v "
        + "insert into Out;\n--- test: anything\nIn - a 1\n",
        encoding="utf-8",
    )
    (report,) = run_file(file, update=True)
    assert report.error is None
    assert report.rewritten
    (report,) = run_file(file)
    assert report.passed, report.text()


def test_a_name_in_the_app_gets_its_value(tmp_path: Path) -> None:
    """Without one the error says how to give it; the file keeps the name."""
    file = tmp_path / "app.siddhi"
    text = APP.replace("In select", "In[v > ${LIMIT}] select") + "--- test\nIn - a 1\n"
    file.write_text(text)
    (report,) = run_file(file)
    assert "lockstep test --set LIMIT=…" in (report.error or "")
    (report,) = run_file(file, update=True, values={"LIMIT": "0"})
    assert report.rewritten
    assert file.read_text() == f"{text}  => q: C 0[a, 1]\n"


def test_an_app_is_split_from_its_tests() -> None:
    """A comment that looks like the beginning of a test is none."""
    text = "--- tests stand below\r\ndefine stream S (a int);\r\n--- test: x\r\nS - 1\r\n"
    app, tests = split_tests(text)
    assert app + tests == text
    assert tests.startswith("--- test: x")
    assert written("q: C 0[a]") == ["=> q: C 0[a]"]
