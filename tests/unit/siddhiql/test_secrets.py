"""Secrets in app texts."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import SiddhiQLError, ast, check, update_variables
from lockstep.siddhiql.secrets import secret_names, with_secrets
from lockstep.siddhiql.syntax.parser import parse_app

TEXT = """@app:name('Hook')
@source(type='nats', destination='in', @map(type='json'))
define stream In (a int);
@sink(type='http', publisher.url='${secret:hook}', headers="'X: ${secret:token}'",
  @map(type='text', @payload('{{a}} ${secret:token}')))
define stream Out (a int);
@store(type='rdbms', jdbc.url='${secret:url}', password='${secret:password}')
define table T (a int);
from In select a insert into Out;
"""


def test_connectors_refer_to_secrets() -> None:
    """In nested annotations, too; the app is checked as it stands."""
    check(TEXT)
    (sink,) = [
        annotation
        for definition in parse_app(TEXT).definitions
        if isinstance(definition, ast.StreamDefinition)
        for annotation in definition.annotations
        if annotation.name == "sink"
    ]
    assert secret_names(sink) == {"hook", "token"}
    filled = with_secrets(sink, {"hook": "http://h/x", "token": "t'\""}.__getitem__)
    assert filled.get("publisher.url") == "http://h/x"
    assert filled.get("headers") == "'X: t'\"'"
    assert filled.nested("map")[0].nested("payload")[0].positional == ("{{a}} t'\"",)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("select a", "select '${secret:token}' as a", (9, 16)),
        ("@app:name('Hook')", "@app:name('Hook')\n@app:description('${secret:token}')", (2, 1)),
    ],
)
def test_a_secret_stands_nowhere_else(old: str, new: str, place: tuple[int, int]) -> None:
    """It would be read by everybody."""
    text = TEXT.replace(old, new).replace("Out (a int)", "Out (a string)")
    with pytest.raises(SiddhiQLError, match="everybody could read it") as caught:
        check(text)
    assert (caught.value.line, caught.value.column) == place


def test_a_reference_that_is_none_is_refused() -> None:
    """With its place and how it is written."""
    with pytest.raises(SiddhiQLError, match="refers to a secret wrongly") as caught:
        check(TEXT.replace("${secret:hook}", "${secret:../hook}"))
    assert caught.value.line == 4
    assert "letters, digits" in (caught.value.hint or "")


def test_values_for_a_text_leave_secrets_alone() -> None:
    """They are filled in where a connector is opened, not in the text."""
    assert update_variables("${a} ${secret:a}", {"a": "1"}) == "1 ${secret:a}"


@pytest.mark.parametrize(
    "annotation",
    [
        "@source(type='nats', destination='${IN}', @map(type='json'))",
        "@sink(type='http', @map(type='json'), @distribution(strategy='broadcast',"
        " @destination(publisher.url='http://${IN}/')))",
        "@source(type='http', @map(type='avro', schema.registry='${IN}'))",
    ],
)
def test_an_option_that_waits_for_a_value_is_refused(annotation: str) -> None:
    """Before, a name was taken for the value itself."""
    with pytest.raises(SiddhiQLError, match=r"no value is given for \$\{IN\}") as caught:
        check(f"{annotation} define stream S (a string);")
    assert "--set IN=" in (caught.value.hint or "")


def test_texts_of_messages_and_queries_hold_what_they_like() -> None:
    """Nobody puts values in there unasked."""
    check(
        "@sink(type='log', @map(type='text', @payload('${a} {{b}}')))"
        " define stream S (b string); from S select '${a}' as b insert into O;"
    )
