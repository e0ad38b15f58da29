"""`#rdbms:query` and `#rdbms:cud`: how an app asks a database (extensions 12.9)."""

from __future__ import annotations

import pytest

from lockstep.events import AttributeType
from lockstep.siddhiql import CheckedApp, SiddhiQLError, ast, check
from lockstep.siddhiql.statements import first_word, given_attributes, pieces

S = "define stream S (id int, name string, o object);"


def options_of(app: CheckedApp, stream: str) -> dict[str | None, str]:
    """Of the stream's one annotation."""
    (found,) = (one for one in app.app.definitions if getattr(one, "name", "") == stream)
    assert isinstance(found, ast.StreamDefinition)
    (annotation,) = found.annotations
    return {one.key: one.value for one in annotation.elements}


@pytest.mark.parametrize(
    ("sql", "marks"),
    [
        ("SELECT 1", 0),
        ("a = ? AND b=?", 2),
        ("a = '?' AND b = 'it''s ?' AND c = \"?\" AND d = `?` AND e = ?", 1),
        ("a /* ? \n ? */ = ? -- ?\n + ?", 2),
        ("?", 1),
        ("a = '?", 1),  # a text that does not end: the database will say so
    ],
)
def test_marks_are_those_outside_of_texts_names_and_comments(sql: str, marks: int) -> None:
    """The parts and the marks are the statement."""
    found = pieces(sql)
    assert len(found) == marks + 1
    assert "?".join(found) == sql


def test_the_first_word_is_behind_comments_and_brackets() -> None:
    """In small letters."""
    assert first_word(" -- DELETE\n /* DROP */ ((Select 1") == "select"
    assert first_word("") == first_word("-- nothing") == first_word("'x'") == ""


def test_lists_of_attributes() -> None:
    """Names and types, each name once."""
    assert given_attributes("a string,B LONG") == (
        ("a", AttributeType.STRING),
        ("B", AttributeType.LONG),
    )
    for text in ("", "a", "a string,", "a object", "a string, a int", "SELECT a FROM b"):
        assert given_attributes(text) is None


def test_a_change_is_a_question_and_an_answer() -> None:
    """Attributes go along; values that are none become some. What stands behind stays."""
    app = check(
        f"{S} @info(name='write it') from S[id > 0]#rdbms:cud('db', 'DELETE FROM t WHERE a = ? AND"
        " b = ? AND c = ?', id, id + 1L, 'x')[numRecords > 0]"
        " select S.name as name, numRecords as n insert into O; from O select n insert into P;"
    )
    assert app.streams["write_it__asks"].names == ("id", "name", "value_2", "value_3")
    assert app.streams["write_it__asks"].types[2:] == (AttributeType.LONG, AttributeType.STRING)
    assert app.streams["write_it__answers"].names == ("id", "name", "numRecords")
    assert app.streams["O"].names == ("name", "n")
    assert options_of(app, "write_it__asks") == {
        "type": "rdbms-call", "sink.id": "write_it", "datasource": "db",
        "statement": "DELETE FROM t WHERE a = ? AND b = ? AND c = ?",
        "parameters": "id,value_2,value_3",
    }  # fmt: skip
    assert options_of(app, "write_it__answers") == {
        "type": "rdbms-call-response",
        "sink.id": "write_it",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        "'db', 'a string, b double', 'SELECT a, b FROM t WHERE c = ?', id, true",
        "'db', 'SELECT a, b FROM t WHERE c = ?', id, 'a string, b double'",
        "'db', 'a string, b double', 'WITH x AS (SELECT 1) SELECT a, b FROM t WHERE c = ?', id",
    ],
)
def test_a_question_names_what_it_gives_in_front_or_at_the_end(arguments: str) -> None:
    """As the two older products wrote it; with or without word of empty answers."""
    app = check(f"{S} from S#rdbms:query({arguments}) select a, b insert into O;")
    options = options_of(app, "rdbms__asks")
    assert options["gives"] == "a string, b double"
    assert options["parameters"] == "id"
    assert options.get("ack.empty.result.set") == ("true" if "true" in arguments else None)
    assert app.streams["O"].types == (AttributeType.STRING, AttributeType.DOUBLE)


def test_questions_about_answers() -> None:
    """Through streams that nobody defined, whatever the order of the text; two in one query."""
    app = check(
        f"{S} from B#rdbms:cud('db', 'INSERT INTO t VALUES (?, ?)', n, other)"
        " select n, numRecords as made insert into C;"
        " from A#rdbms:query('db', 'n int', 'SELECT n FROM t WHERE m = ?', m)"
        "#rdbms:query('db', 'other long', 'SELECT n FROM t WHERE n > ?', n)"
        " select n, other insert into B; from S select id as m insert into A;"
    )
    assert app.streams["C"].names == ("n", "made")
    assert sorted(name for name in app.streams if name.endswith("asks")) == [
        "rdbms_2__asks", "rdbms_3__asks", "rdbms__asks",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("from S#rdbms:cud(name, 'DELETE FROM t') ", "the datasource is no text"),
        ("from S#rdbms:cud('db', name) ", "the statement is no text"),
        ("from S#rdbms:cud('db', 'DROP TABLE t') ", "begins with 'drop'"),
        ("from S#rdbms:cud('db', 'COMMIT', 'work') ", "begins with 'commit'"),
        ("from S#rdbms:cud('db', 'DELETE FROM t WHERE a = ?', id, 'work') ", "each statement is a"),
        ("from S#rdbms:cud('db', 'DELETE FROM t WHERE a = ?') ", "has 1 marks '?' and gets 0"),
        ("from S#rdbms:cud('db', 'DELETE FROM t WHERE a = ?', o) ", "is an object"),
        ("from S#rdbms:query('db', 'n int', 'DELETE FROM t') ", "begins with 'delete'"),
        ("from S#rdbms:query('db', 'SELECT n FROM t') ", "names no attributes"),
        ("from S#rdbms:query('db', 'id int', 'SELECT n FROM t') ", "'id' is an attribute of the"),
        ("from S#rdbms:query('db', 'n int', 'SELECT n FROM t', id) ", "has 0 marks"),
        ("from S#rdbms:procedure('db') ", "rdbms:procedure"),
        ("from every e1=S#rdbms:cud('db', 'DELETE FROM t') -> e2=S ", "a join or a pattern"),
        (
            "partition with (id of S) begin from S#rdbms:cud('db', 'DELETE FROM t')",
            "cannot stand in a partition",
        ),
    ],
)
def test_what_is_refused(query: str, said: str) -> None:
    """With its place and what to do."""
    end = "end;" if query.startswith("partition") else ""
    with pytest.raises(SiddhiQLError) as caught:
        check(f"{S} {query} select 1 as n insert into O; {end}")
    assert said in str(caught.value)
    assert caught.value.line == 1


def test_a_ring_of_questions_wants_a_definition() -> None:
    """Nobody could tell what its streams hold."""
    ring = (
        "from A#rdbms:query('db', 'n int', 'SELECT n FROM t') select n insert into B;"
        " from B select n as m insert into A;"
    )
    with pytest.raises(SiddhiQLError, match="depends on its own answer"):
        check(f"{S} {ring}")
    assert check(f"define stream A (m int); {ring}").streams["B"].names == ("n",)
