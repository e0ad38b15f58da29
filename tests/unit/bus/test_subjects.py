"""Subject names: any name is safe, and different names never meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.bus import (
    InvalidNameError,
    LogName,
    control_subject,
    dead_subject,
    ingress_subject,
    input_subject,
    output_subject,
    presenter_subject,
    topic_subject,
)
from lockstep.bus.subjects import (
    MAX_SUBJECT_BYTES,
    dead_pattern,
    escaped,
    ingress_names,
    log_name,
    log_names,
    matches,
    refuse_unfit,
    stream_name,
    subject_of,
    unescaped,
)
from lockstep.connectors import nats
from lockstep.siddhiql import SiddhiQLError, check

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def test_plain_names_stay_legible() -> None:
    """What people type on the bus is what they named their app."""
    name = LogName("Orders", "main", 2)
    assert input_subject(name) == "in.Orders.main.2"
    assert output_subject(name) == "out.Orders.main.2"
    assert dead_subject("Orders", "In_put") == "dead.Orders.In_put"
    assert ingress_subject("Orders", "Input") == "ingress.Orders.Input"
    assert presenter_subject("Orders", "Late-1") == "presenter.Orders.Late-1"
    assert control_subject("lease") == "control.lease"
    assert control_subject("query", "a.b") == "control.query.a%2Eb"


@given(NAMES)
def test_escaping_is_reversible_and_one_token(name: str) -> None:
    """No name contains a separator, a wildcard or white space once it is escaped."""
    token = escaped(name)
    assert unescaped(token) == name
    assert token
    assert not set(token) & set(" .*>\t\r\n/\\+")


@given(st.tuples(NAMES, NAMES), st.tuples(NAMES, NAMES))
def test_different_logs_have_different_streams(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    """Neither dots nor plus signs in names can make two logs one."""
    first, second = (stream_name(input_subject(LogName(*each))) for each in (one, other))
    assert (first == second) == (one == other)


@given(NAMES, NAMES)
def test_a_streams_name_is_one_that_every_server_can_read(app: str, group: str) -> None:
    """NATS before 2.14.3 loses a `%` on the way; and the name leads back to the log."""
    log = LogName(app, group, 3)
    name = stream_name(input_subject(log))
    assert not set(name) & set("% .*>\t\r\n/\\")
    assert log_name(subject_of(name)) == log


def test_what_others_keep_is_no_log() -> None:
    """However it is called; and each log is named once."""
    log = LogName("a", "g", 3)
    subjects = [input_subject(log), "in.theirs", "in.a.b.c.d", "out.a.b.c.d.e.f"]
    assert log_names([*subjects, *subjects]) == [log]


@given(NAMES, NAMES)
def test_ingress_names_come_back(app: str, stream: str) -> None:
    """The receiver sees the names that the client meant."""
    assert ingress_names(ingress_subject(app, stream)) == (app, stream)


def test_ingress_subjects_of_another_shape_are_told_apart() -> None:
    """What no client of ours would send becomes a stream name that does not exist."""
    assert ingress_names("ingress.App") == ("App", "")
    assert ingress_names("ingress.App.a.b") == ("App", "a.b")


def test_a_name_that_is_too_long_is_refused() -> None:
    """Before the server refuses it with less to say."""
    with pytest.raises(InvalidNameError):
        escaped("x" * 201)


def test_topics_may_be_of_any_length() -> None:
    """Long ones stay apart, and legible at their beginning."""
    long = topic_subject("城市" * 5_000)
    assert long.startswith("topic.%E5%9F%8E%E5%B8%82")
    refuse_unfit(long)
    assert len(long.split(".")) == 2
    assert long != topic_subject("城市" * 5_001)
    assert topic_subject("a b") == "topic.a%20b"


@pytest.mark.parametrize("subject", ["é" * 513, "a b", "a\tb", "a\r\nPUB b 0"])
def test_what_would_cut_the_connection_is_no_subject(subject: str) -> None:
    """The server would take it for something else, or for too much."""
    with pytest.raises(InvalidNameError):
        refuse_unfit(subject)


def test_the_checker_takes_no_longer_subjects_than_the_bus() -> None:
    """The language knows no bus, so it has a limit of its own."""
    assert nats.MAX_SUBJECT_BYTES == MAX_SUBJECT_BYTES
    refuse_unfit("é" * 512)


@pytest.mark.parametrize(("letter", "most"), [("a", 200), ("名", 22), (".", 66)])
def test_the_checker_takes_no_longer_name_of_an_app_than_the_bus(letter: str, most: int) -> None:
    """It is refused where it stands, and not when it is deployed."""
    text = "@app:name('{}') define stream S (v int); from S select v insert into O;"
    check(text.format(letter * most))
    escaped(letter * most)
    with pytest.raises(SiddhiQLError, match="a letter outside of ASCII takes 6 to 12") as refused:
        check(text.format(letter * (most + 1)))
    assert (refused.value.line, refused.value.column) == (1, 1)
    with pytest.raises(InvalidNameError):
        escaped(letter * (most + 1))


def test_a_stream_of_any_name_has_a_topic() -> None:
    """One that had none held up all views of its app."""
    refuse_unfit(presenter_subject("A", "名" * 80))
    assert presenter_subject("A", "名" * 80) != presenter_subject("A", "名" * 81)


@pytest.mark.parametrize(
    ("pattern", "subject", "expected"),
    [
        ("a.b", "a.b", True),
        ("a.b", "a.b.c", False),
        ("a.*", "a.b", True),
        ("a.*", "a", False),
        ("a.*.c", "a.b.c", True),
        ("a.>", "a.b.c", True),
        ("a.>", "a", False),
        (">", "a", True),
        (dead_pattern("A.b", None), dead_subject("A.b", "S"), True),
        (dead_pattern("A.b", "S"), dead_subject("A.b", "T"), False),
    ],
)
def test_wildcards(pattern: str, subject: str, expected: bool) -> None:
    """As NATS has them."""
    assert matches(pattern, subject) is expected
