"""Instances of templates."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.siddhiql import SiddhiQLError, ast, check
from lockstep.siddhiql.syntax.parser import parse_app
from lockstep.siddhiql.trees import below
from lockstep.templates import TemplateError, check_template, filled, template_of

TEXT = """-- template: Room too hot
-- parameter room string = 'kitchen'
-- parameter limit double = 30
-- parameter span time = '5 min'
-- parameter few int = 3
@app:name('${app}')
@app:description("about ${room}, ${limit}")
define stream Reading (room string, celsius double);
-- ${room} in a comment stays.
@sink(type='log', prefix='${secret:kept}')
define stream Hot (room string, mean double);
from Reading[room == ${room} and celsius -${limit}> 0]#window.time(${span})
select room, avg(celsius) as mean having count() > ${few} insert into Hot;
"""


def test_values_become_literals_or_parts_of_texts() -> None:
    """References to secrets and comments stay."""
    text = filled(template_of(TEXT), "Kitchen", {"limit": "-1.5", "room": "O'Neil"})
    assert """room ==  "O'Neil"  and celsius - -1.5 > 0""" in text
    assert """@app:description("about O'Neil, -1.5")""" in text
    assert "#window.time( 5 min )" in text
    assert "${secret:kept}" in text
    assert "-- ${room} in a comment stays." in text
    assert check(text).name == "Kitchen"


def test_a_template_is_tried_with_examples() -> None:
    """What is wrong in it is told before anybody starts it."""
    assert check_template(template_of(TEXT)).name == "Example"
    with pytest.raises(TemplateError, match="all instances would be one app"):
        check_template(template_of(TEXT.replace("${app}", "Fixed")))
    with pytest.raises(SiddhiQLError) as caught:
        check_template(template_of(TEXT.replace("avg(celsius)", "avg(room)")))
    assert caught.value.line == 13


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("${few}", "${fewer}", "there is no parameter 'fewer'"),
        ("'${app}'", "'${app} ${}'", "there is no parameter ''"),
        ("as mean", "as mean${few}", "a whole value, or within a text"),
        ("as mean", "as `${room}`", "a whole value, or within a text"),
        ("> ${few}", "> ${few}${few}", "a whole value, or within a text"),
        (
            "define stream Hot",
            "define function f[python] return int { return ${few} };\ndefine stream Hot",
            "a whole value, or within a text",
        ),
    ],
)
def test_where_parameters_may_not_stand(old: str, new: str, why: str) -> None:
    """A value is one literal, or within one."""
    with pytest.raises(TemplateError, match=why):
        filled(template_of(TEXT.replace(old, new)), "Kitchen", {})


@pytest.mark.parametrize(
    "name",
    ["'${app}${room}'", "'${room}'", "${room}", "'${app}x${room}', 'b'", "value='a${app}${room}'"],
)
def test_no_value_has_a_say_in_the_apps_name(name: str) -> None:
    """Whatever the values are, as the right is asked for of the instance's name; nor by default."""
    text = TEXT.replace("'${app}'", name).replace("= 'kitchen'", "= ''")
    template = template_of(text.replace("@app:name", "@App : `Name`"))
    for work in (lambda: check_template(template), lambda: filled(template, "Kitchen", {})):
        with pytest.raises(TemplateError, match="more than the name of the instance") as caught:
            work()
        assert caught.value.where == "template 'Room too hot', line 6"


@pytest.mark.parametrize("name", ["'${app}'", '"${app}"', '"""${ app }"""', "${app}"])
def test_the_name_of_the_instance_is_the_apps(name: str) -> None:
    """However it is quoted; other annotations may have any parameter."""
    template = template_of(TEXT.replace("'${app}'", name))
    assert check_template(template).name == "Example"
    assert check(filled(template, "Kitchen", {"room": "hall"})).name == "Kitchen"


def test_what_nobody_asked_for_is_refused() -> None:
    """A value for no parameter, a name that is none, a quotation mark where none can stand."""
    template = template_of(TEXT.replace('"about ${room}, ${limit}"', "'about ${room}'"))
    with pytest.raises(TemplateError, match="there is no parameter 'limt'") as caught:
        filled(template, "Kitchen", {"limt": 3})
    assert "limit" in (caught.value.hint or "")
    with pytest.raises(TemplateError, match="no name for an app"):
        filled(template, "a') define", {})
    with pytest.raises(TemplateError, match="quotation mark"):
        filled(template, "Kitchen", {"room": "O'Neil"})


def test_values_do_not_make_a_reference_together() -> None:
    """Neither of them has one."""
    text = "-- template: T\n-- parameter a string\n-- parameter b string\n@app:name('${app}')\n"
    template = template_of(text + "@sink(type='log', prefix='${a}${b}') define stream S (v int);")
    with pytest.raises(TemplateError, match="side by side"):
        filled(template, "A", {"a": "$", "b": "{secret:root}"})
    with pytest.raises(TemplateError, match="side by side"):
        filled(template, "A", {"a": "{", "b": "{v}}"})


def _shape(text: str) -> list[Any]:
    return [type(one) for one in below(parse_app(text)) if not isinstance(one, str)]


PLAIN = _shape(filled(template_of(TEXT), "Kitchen", {"room": "a"}))


@given(st.text(max_size=20), st.text("'\"\\${}/*-; \n\t`", max_size=12))
def test_no_value_changes_more_than_itself(one: str, other: str) -> None:
    """Whatever it holds: the app is the same but for the literal, or the value is refused."""
    for value in (one, other, one + other):
        try:
            text = filled(template_of(TEXT), "Kitchen", {"room": value})
        except TemplateError:
            continue
        assert _shape(text) == PLAIN
        found = [one for one in below(parse_app(text)) if isinstance(one, ast.Constant)]
        assert value in [each.value for each in found]
