"""Traces: which sends are traced, what hangs together, and what log lines say."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator

import pytest

from lockstep.clock import SeededRandomness, VirtualClock, stopwatch_ns
from lockstep.telemetry import (
    NO_TRACES,
    Traces,
    configure_logging,
    current_trace,
    get_logger,
    open_traces,
    otel,
)
from lockstep.telemetry.otel import MAX_LINKS, FineTime
from lockstep.telemetry.traces import SILENT, given_context, ids_of
from tests.otlp.receiver import Spans, receiving

SERVER, INTERNAL, FAILED, MS_NS = 2, 1, 2, 1_000_000
GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans() -> Iterator[Spans]:
    """A collector's receiving end."""
    with receiving() as received:
        yield received


def _traces(spans: Spans, ratio: float = 1.0) -> Traces:
    return open_traces(
        ratio=ratio, url=spans.url, service="receiver", node="n1", clock=VirtualClock(1_000),
        randomness=SeededRandomness(1),
    )  # fmt: skip


def test_what_follows_is_a_child_and_has_links(spans: Spans) -> None:
    """A batch belongs to the trace of its first part, and leads to the others."""
    traces = _traces(spans)
    with traces.root("receive", app="a") as one, traces.root("receive") as two:
        pass
    with traces.follow("fold", [one.carried, two.carried]):
        pass
    traces.close()
    first, second, fold = sorted(spans.seen, key=lambda span: span.name == "fold")
    ids = {ids_of(one.carried), ids_of(two.carried)}
    assert {(span.trace_id, span.span_id) for span in (first, second)} == ids
    assert (fold.trace_id, fold.parent_id) == ids_of(one.carried)
    assert fold.links == ((ids_of(two.carried) or ("", ""))[0],)
    assert {span.service for span in spans.seen} == {"lockstep-receiver"}
    assert {"lockstep.app": "a"} in [span.attributes for span in spans.seen]


def test_a_share_of_the_sends_is_traced(spans: Spans) -> None:
    """And what follows from the others is not."""
    traces = _traces(spans, ratio=0.25)
    carried = [traces.root("receive").carried for _ in range(1_000)]
    assert 200 < sum(map(bool, carried)) < 300
    with traces.follow("fold", []) as span:
        assert span.carried == ""
    traces.close()
    assert spans.seen == []


def test_who_sends_decides_where_it_says(spans: Spans) -> None:
    """A sampled traceparent is gone on with, one that is not sampled is not traced."""
    traces = _traces(spans)
    with traces.root("receive", GIVEN) as span:
        assert ids_of(span.carried) is not None
        assert (ids_of(span.carried) or ("",))[0] == (ids_of(GIVEN) or ("",))[0]
    assert traces.root("receive", GIVEN[:-1] + "0").carried == ""
    traces.close()
    assert [span.parent_id for span in spans.seen] == ["b7ad6b7169203331"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (GIVEN[:-2] + "03", GIVEN),  # further flags (level 2: the trace id is random)
        (GIVEN[:-2] + "ff", GIVEN),
        (GIVEN[:-2] + "02", ""),
        ("01" + GIVEN[2:], GIVEN),  # of a later version that is known to be read alike
        ("cc" + GIVEN[2:] + "-what-comes-later", GIVEN),
        ("cc" + GIVEN[2:-1] + "0-later", ""),
        ("ff" + GIVEN[2:], None),
        (GIVEN + "-more", None),
        (GIVEN + "\n", None),
        ("cc" + GIVEN[2:] + "later", None),
        (GIVEN.upper().replace("X", "x"), None),
        ("00-" + "0" * 32 + GIVEN[35:], None),
        (GIVEN[:36] + "0" * 16 + "-01", None),
        ("nonsense", None),
        ("", None),
    ],
)
def test_a_traceparent_is_read_as_w3c_has_it(given: str, expected: str | None) -> None:
    """A bit of the flags says whether it is traced; later versions begin as the first one does."""
    assert given_context(given) == expected


def test_what_cannot_be_read_counts_as_none(spans: Spans) -> None:
    """A broken traceparent takes no send out of the share that is traced, nor puts one in."""
    for ratio, is_traced in ((1.0, True), (1e-12, False)):
        traces = _traces(spans, ratio)
        with traces.root("receive", "nonsense") as span:
            assert bool(span.carried) is is_traced
        traces.close()
    assert [span.parent_id for span in spans.seen] == [""]


@pytest.fixture
def hanging() -> Iterator[str]:
    """A collector that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1/traces"


def test_a_collector_that_hangs_holds_up_no_stop(
    hanging: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much waits: all of it has one limit, and what was lost is said."""
    monkeypatch.setattr(otel, "CLOSE_LIMIT_S", 0.3)
    stream = io.StringIO()
    configure_logging(service="receiver", stream=stream)
    several = [
        open_traces(
            ratio=1.0, url=hanging, service="receiver", node="n1", clock=VirtualClock(1_000),
            randomness=SeededRandomness(1),
        )
        for _ in range(3)
    ]  # fmt: skip
    for traces in several:
        for _ in range(1_200):
            with traces.root("receive"):
                pass
    begun_ns = stopwatch_ns()
    for traces in several:
        traces.end()
    for traces in several:
        traces.close()
    assert stopwatch_ns() - begun_ns < 600 * MS_NS
    assert stream.getvalue().count("did not take the last spans in time") == 3


def test_many_links_are_cut(spans: Spans) -> None:
    """A slice of a thousand traced records has a span that a collector takes."""
    traces = _traces(spans)
    with traces.follow("fold", [GIVEN] * 1_000):
        pass
    traces.close()
    assert len(spans.seen[0].links) == MAX_LINKS - 1


def test_who_records_nothing_hands_contexts_on() -> None:
    """So that a service without a collector does not cut a trace in two."""
    assert NO_TRACES.root("receive", GIVEN[:-2] + "03").carried == GIVEN
    assert NO_TRACES.root("receive", GIVEN[:-1] + "0") is SILENT
    assert NO_TRACES.root("receive", "nonsense") is SILENT
    assert NO_TRACES.root("receive") is SILENT
    assert NO_TRACES.follow("fold", [GIVEN]).carried == GIVEN
    assert NO_TRACES.follow("fold", []) is SILENT


def test_who_is_called_from_within_is_handed_it_too() -> None:
    """A sink's request bears it, and so do log lines; after the block it is as it was."""
    other = GIVEN.replace("b7ad", "aaaa")
    with NO_TRACES.root("receive", GIVEN):
        assert current_trace() == GIVEN
        with NO_TRACES.follow("deliver", [other]), SILENT:
            assert current_trace() == other
        assert current_trace() == GIVEN
    assert current_trace() == ""


def test_log_lines_bear_the_ids(spans: Spans) -> None:
    """Within traced work, and no longer."""
    stream = io.StringIO()
    configure_logging(service="receiver", stream=stream)
    traces = _traces(spans)
    with traces.root("receive") as span:
        get_logger().info("inside")
    get_logger().info("outside")
    traces.close()
    inside, outside = map(json.loads, stream.getvalue().splitlines())
    assert (inside["trace_id"], inside["span_id"]) == ids_of(span.carried)
    assert "trace_id" not in outside


def test_an_error_is_told(spans: Spans) -> None:
    """The span says of which kind it was."""
    traces = _traces(spans)
    with pytest.raises(KeyError), traces.root("receive"):
        raise KeyError("gone")
    traces.close()
    assert spans.seen[0].attributes == {"error.type": "KeyError"}
    assert spans.seen[0].status == FAILED


def test_a_span_says_what_it_is_and_when_it_was(spans: Spans) -> None:
    """Within the millisecond of the clock; a span without an error is no failure."""
    traces = _traces(spans)
    with traces.root("receive"), traces.root("other"):
        pass
    traces.close()
    receive, other = sorted(spans.seen, key=lambda span: span.name != "receive")
    assert (receive.kind, other.kind) == (SERVER, INTERNAL)
    for span in spans.seen:
        assert 1_000 * MS_NS <= span.begun_ns <= span.ended_ns < 1_001 * MS_NS
        assert span.status != FAILED


@pytest.mark.parametrize(
    ("clock_ms", "watch_ns", "told_ns"),
    [
        (1_000, 1_500, 1_000 * MS_NS + 500),  # shorter than a millisecond
        (1_000, 3 * MS_NS, 1_001 * MS_NS - 1),  # the clock has not ticked yet
        (1_007, 2 * MS_NS, 1_007 * MS_NS),  # it was set forward
    ],
)
def test_fine_time_is_in_the_millisecond_of_the_clock(
    clock_ms: int, watch_ns: int, told_ns: int
) -> None:
    """The stopwatch says where in it."""
    clock, watch = VirtualClock(1_000), [1_000, watch_ns, watch_ns + 7]
    time = FineTime(clock, lambda: watch.pop(0))
    clock.set_ms(clock_ms)
    assert time.now_ns() == told_ns
    clock.set_ms(clock_ms + 1)
    assert time.now_ns() == max(told_ns + 7, (clock_ms + 1) * MS_NS)


def test_work_under_way_can_be_told_of(spans: Spans) -> None:
    """To whoever is called from within it."""
    traces = _traces(spans)
    with traces.root("receive") as span:
        assert current_trace() == span.carried
    assert current_trace() == ""
    traces.close()
