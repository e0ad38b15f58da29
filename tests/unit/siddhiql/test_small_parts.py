"""Variables of texts, durations of annotations, cron texts, signatures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.events import AttributeType
from lockstep.operators.cron import CronSchedule
from lockstep.siddhiql import SiddhiQLError, check, update_variables
from lockstep.siddhiql.catalogue import (
    Argument,
    Catalogue,
    Extension,
    ExtensionKind,
    Overload,
    Parameter,
    SignatureError,
)
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.catalogue.matching import match, signature
from lockstep.siddhiql.cron import check_cron
from lockstep.siddhiql.durations import duration_ms
from lockstep.siddhiql.variables import names_of, with_values
from tests.unit.siddhiql.refusals import says

_INT, _STRING = AttributeType.INT, AttributeType.STRING


def test_variables_are_replaced() -> None:
    """Every `${name}` becomes its value, as text."""
    text = "define stream ${ name } (a int); -- ${name}"
    assert update_variables(text, {"name": "S"}) == "define stream S (a int); -- S"
    assert update_variables("no variables", {}) == "no variables"


def test_values_leave_what_they_do_not_name() -> None:
    """Names are one word, as in the older product."""
    text = "${A} ${a.b} ${B} ${secret:A} {{A}}"
    assert with_values(text, {"A": "${B}", "a.b": "x"}) == "${B} ${a.b} ${B} ${secret:A} {{A}}"
    assert names_of(text) == {"A", "B"}


def test_unknown_variables_are_an_error() -> None:
    """With place and suggestion."""
    with pytest.raises(SiddhiQLError) as caught:
        update_variables("define\n  stream ${strem}", {"stream": "S"})
    says(caught.value, "${strem}", "did you mean 'stream'")
    assert (caught.value.line, caught.value.column) == (2, 10)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("10 sec", 10_000),
        ("1 hour", 3_600_000),
        ("2h", 7_200_000),
        ("1 min 30 seconds", 90_000),
        ("1 hour 30 min", 5_400_000),
        ("100 millisec", 100),
        ("1 Day", 86_400_000),
        (" 1 year ", 31_536_000_000),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    """Numbers with units, one after another."""
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    "text",
    ["", " ", "soon", "sec", "10", "sec 10", "10 parsecs", "10 sec soon", "10 sec 5", "-1 sec"],
)
def test_texts_that_are_no_durations(text: str) -> None:
    """Anything else, also a number without a unit."""
    with pytest.raises(ValueError, match="no duration"):
        duration_ms(text)


@pytest.mark.parametrize(
    "text",
    [
        "*/5 * * * * ?",
        "0 0 2 * * ?",
        "0 15 10 ? * MON-FRI",
        "0 15 10 L * ? 2030",
        "0 0/5 14,18 * * ?",
        "0 15 10 ? * 6#3",
        "0 15 10 ? jan-mar 6L",
        "0 0 12 1/5 * ?",
        "0 0 0 LW * ?",
        "0 0 0 L-3 * ?",
        "0 0 0 31W * ?",
        "0 0 0 ? * sat#1",
        "*/010 * * * * ?",
    ],
)
def test_cron_texts(text: str) -> None:
    """Quartz: seconds first, names in any case, ranges, steps, last days."""
    assert check_cron(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * * *",
        "60 * * * * ?",
        "a * * * * ?",
        "? * * * * ?",
        "0 0 0 1,L * ?",
        "0 0 0 15W,1 * ?",
        "0 0 0 32W * ?",
        "0 0 0 0W * ?",
        "0 0 0 ? * 6L,2",
        "0 0 0 ? * 2,6L",
        "0 0 0 ? * 2#1,3#1",
        "0 0 0 ? * A#2",
        "0 0 0 ? * 8#2",
        "*/0 * * * * ?",
        "1-5/00 * * * * ?",
        f"*/{'9' * 5000} * * * * ?",
        f"{'0' * 5000} * * * * ?",
    ],
)
def test_what_is_no_cron_text(text: str) -> None:
    """What is wrong is said of the field."""
    assert check_cron(text) is not None


_CRON_PART = st.one_of(
    st.sampled_from(["*", "?", "L", "LW", "L-3", "32W", "15W", "6L", "2#3", "A#2", "*/0", "5/15"]),
    st.from_regex(r"[0-9A-Z]{1,3}(-[0-9A-Z]{1,3})?(/[0-9]{1,2})?", fullmatch=True),
    st.from_regex(r"([0-9]{1,2}|MON|TUE|JAN|FEB)([LW]|#[0-6])?", fullmatch=True),
)
_CRON_FIELD = st.lists(_CRON_PART, min_size=1, max_size=2).map(",".join)


@given(st.sampled_from(range(7)), _CRON_FIELD)
def test_what_passes_has_a_schedule(place: int, field: str) -> None:
    """So nothing can go wrong any more when the app starts."""
    fields = ["0", "0", "0", "*", "*", "?", "2030"]
    fields[place] = field
    text = " ".join(fields)
    if check_cron(text) is None:
        CronSchedule(text).next_after(0)


_CHECKED = Extension(
    ExtensionKind.FUNCTION,
    "f",
    (
        Overload((Parameter("a", (_INT,), constant=True),), _INT),
        Overload(
            (Parameter("a"), Parameter("more", repeat=True, min_repeat=1, same_as_first=True)),
            lambda arguments: arguments[0].type,
        ),
    ),
    "ns",
)


def test_overloads_are_tried_in_order() -> None:
    """The first that takes the arguments gives the result."""
    assert match(_CHECKED, [Argument(_INT, is_constant=True, value=1)])[1] is _INT
    assert match(_CHECKED, [Argument(_STRING), Argument(_STRING)])[1] is _STRING


@pytest.mark.parametrize(
    "arguments",
    [[], [Argument(_INT)], [Argument(_STRING)], [Argument(_INT), Argument(_STRING)]],
)
def test_refusals_list_the_overloads(arguments: list[Argument]) -> None:
    """What was given and what is taken, in the language's words."""
    with pytest.raises(SignatureError) as caught:
        match(_CHECKED, arguments)
    assert "ns:f" in caught.value.message
    assert caught.value.hint == f"it takes {signature(_CHECKED)}"
    assert signature(_CHECKED) == "ns:f(a: int constant) or ns:f(a, more: same, …)"


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("bayesianRegression('m', 0, a, b)", "'prediction.samples' must be more than 0"),
        ("kMeansMiniBatch(2, 0.5, 0, 5, a, b)", "'maximum.iterations' must be more than 0"),
        ("kMeansMiniBatch(2, 0.5, 10, 0, a, b)", "'no.of.events.to.retrain' must be more than 0"),
        ("clusTree(2, 0, 5, 3, 10, a, b)", "'max.iterations' must be more than 0"),
    ],
)
def test_a_value_is_the_reason_where_the_types_fit_one_overload(call: str, reason: str) -> None:
    """What other overloads want there says less."""
    with pytest.raises(SiddhiQLError) as caught:
        check(f"define stream S (a double, b double); from S#streamingml:{call} insert into O;")
    assert reason in caught.value.message


def test_nothing_is_registered_twice() -> None:
    """Two packs cannot claim one name; the default catalogue has all kinds."""
    catalogue = Catalogue()
    catalogue.register(_CHECKED)
    with pytest.raises(ValueError, match="twice"):
        catalogue.register(_CHECKED)
    for kind in ExtensionKind:
        assert default_catalogue().names(kind)
