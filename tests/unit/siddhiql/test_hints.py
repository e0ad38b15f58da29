"""A hint that is followed leads to an app that is valid."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import SiddhiQLError, check
from tests.unit.siddhiql.refusals import error_of_app

S = "define stream S (sym string, price double, vol int, ts long, ok bool);\n"
T = "define table T (sym string, price double);\n"
TO = "define stream O (sym string, p int);\nfrom S select sym, {} as p insert into O;"


def _filter(condition: str) -> str:
    return f"from S[{condition}] select sym insert into O;"


def _value(expression: str) -> str:
    return f"from S select {expression} as c insert into O;"


def _window(call: str) -> str:
    return f"from S#{call} select sym insert into O;"


@pytest.mark.parametrize(
    ("wrong", "hint", "right"),
    [
        (_filter("!ok"), "not ok", _filter("not ok")),
        (_filter("price > 1 and !S.ok"), "not S.ok", _filter("price > 1 and not S.ok")),
        (_value("!ok"), "not ok", _value("not ok")),
        (_filter("price > '10'"), "without quotes: 10", _filter("price > 10")),
        (_filter("'-1.5' < vol"), "without quotes: -1.5", _filter("-1.5 < vol")),
        (_filter("vol == '7'"), "without quotes: 7", _filter("vol == 7")),
        (_filter("sym > 10"), "convert(sym, 'int')", _filter("convert(sym, 'int') > 10")),
        (_filter("ts < sym"), "convert(sym, 'long')", _filter("ts < convert(sym, 'long')")),
        (_filter("sym == vol"), "convert(sym, 'int')", _filter("convert(sym, 'int') == vol")),
        (_filter("sym == 10"), "in quotes: '10'", _filter("sym == '10'")),
        (_filter("vol == 'x'"), "convert(vol, 'string')", _filter("convert(vol, 'string') == 'x'")),
        (_filter("ok == 'true'"), "true or false, without quotes", _filter("ok == true")),
        (_filter("ok == 1"), "true or false", _filter("ok == true")),
        (_filter("sym < 'b'"), "str:strcmp(a, b) < 0", _filter("str:strcmp(sym, 'b') < 0")),
        (TO.format("price"), "convert(x, 'int') as p", TO.format("convert(price, 'int')")),
        (TO.format("ok"), "convert(x, 'int') as p", TO.format("convert(ok, 'int')")),
        (_filter("price => 10"), "write >=", _filter("price >= 10")),
        (_filter("vol =< 3"), "write <=", _filter("vol <= 3")),
        (_filter("vol === 3"), "'=='", _filter("vol == 3")),
        (
            "from every e1=S => e2=S select e1.sym as c insert into O;",
            "write ->",
            "from every e1=S -> e2=S select e1.sym as c insert into O;",
        ),
        (_window("window.unique(sym)"), "'unique:ever'", _window("window.unique:ever(sym)")),
        (_window("window.firstUnique(sym)"), "'unique:first'", _window("window.unique:first(sym)")),
        (_window("window:time(5 min)"), "#window.time(", _window("window.time(5 min)")),
        (_value("substring(sym, 0, 1)"), "str:substr(", _value("str:substr(sym, 0, 1)")),
        (_value("if(ok, 1, 2)"), "ifThenElse(", _value("ifThenElse(ok, 1, 2)")),
        (_filter("isnull(sym)"), "x is null", _filter("sym is null")),
        (_value("nvl(sym, 'a')"), "default(x, value)", _value("default(sym, 'a')")),
        (_value("sym || 'x'"), "str:concat(a, b)", _value("str:concat(sym, 'x')")),
        (_filter("ok || vol > 3"), "'or'", _filter("ok or vol > 3")),
        (_filter("ok && vol > 3"), "'and'", _filter("ok and vol > 3")),
        (
            "from S select sym, price insert overwrite T on T.sym == sym;",
            "update or insert into T on",
            "from S select sym, price update or insert into T on T.sym == sym;",
        ),
    ],
)
def test_the_hint_leads_to_a_valid_app(wrong: str, hint: str, right: str) -> None:
    """Not to a second error."""
    assert hint in (error_of_app(S + T + wrong).hint or "")
    check(S + T + right)


def test_an_object_has_no_type_to_convert_to() -> None:
    """No function makes an object of a number; one of an object is cast."""
    text = "define stream X (o object, v int);\ndefine stream O (o string, v {});\n"
    query = "from X select {}, {} insert into O;"
    error = error_of_app(text.format("long") + query.format("o", "v"))
    assert error.hint == "convert the types: cast(x, 'string') as o, convert(x, 'long') as v"
    check(text.format("long") + query.format("cast(o, 'string') as o", "convert(v, 'long') as v"))
    error = error_of_app(text.format("object") + query.format("cast(o, 'string') as o", "v"))
    assert error.hint == "define 'O' as (o string, v int)"


def test_text_that_is_no_number_has_no_order() -> None:
    """There is nothing to convert."""
    assert (
        error_of_app(S + _filter("vol > 'x'")).hint
        == "'x' is no number: compare numbers with numbers"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"// mine\n{S}", 1),
        (f"{S}// don't\nfrom S select sym insert into O;", 2),
        (f"{S}from S select sym insert into O; // mine\nfrom S select sym insert into P;", 2),
        (f"{S}from S select sym insert into O // mine\n;", 2),
        ("define stream S (a int, // mine\n b string);", 1),
        ("define stream S (a int // mine\n, b string);", 1),
        ("@sink(type='log', // mine\n prefix='x') define stream S (a int);", 1),
        (f"{S}from S // mine\nselect sym insert into O;", 2),
        (f"{S}from S select sym, // mine\nprice insert into O;", 2),
        (f"{S}from S[vol > 3 // mine\n] select sym insert into O;", 2),
    ],
)
def test_a_comment_of_other_languages_is_named_everywhere(text: str, line: int) -> None:
    """At the head, behind a semicolon, between attributes: wherever people write one."""
    error = error_of_app(text)
    assert (error.line, error.hint) == (line, "comments begin with -- or stand between /* and */")


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        (f"@Plan:name('x')\n{S}", (1, 6), "this is an execution plan of WSO2 CEP"),
        (f"@Import('a:1.0.0')\n@plan:trace('true')\n{S}", (2, 6), "this is an execution plan"),
        ("<executionPlan name='x'/>", (1, 1), "is it a file of WSO2 CEP?"),
        ("\n  <?xml version='1.0'?><a/>", (2, 3), "is it a file of WSO2 CEP?"),
        ('{"name": "x", "version": "1.0.0"}', (1, 1), "is it a file of WSO2 CEP?"),
        ('{"name": "x"', (1, 1), "is it a file of WSO2 CEP?"),
    ],
)
def test_files_of_older_products_are_for_the_import(
    text: str, place: tuple[int, int], what: str
) -> None:
    """The hint names the command as it is written."""
    with pytest.raises(SiddhiQLError) as refused:
        check(text)
    error = refused.value
    assert (error.line, error.column) == place
    assert error.hint is not None
    assert error.hint.startswith(what)
    assert "lockstep import FILE -o apps/" in error.hint
