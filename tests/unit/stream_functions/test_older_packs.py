"""Packs of the older products: `markov:`, `throughput:`, and those that are refused."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import SiddhiQLError, check
from lockstep.testing import VirtualApp

STREAM = "define stream S (id string, state string, sent long, v double);\n"


@pytest.mark.parametrize(
    ("call", "messages"),
    [
        ("markov:markovChain(id, state, 1 min, 0.3, '/data/m.csv')", ("no matrix", "'a,b;")),
        ("markov:markovChain(id, state, 1 min, 1.3, 5)", ("alert.threshold is 1.3",)),
        ("markov:markovChain(id, state, 1 min, 0.3, -5)", ("is -5",)),
        ("markov:markovChain(id, state, 1 min, 0.3, 'a,b; 1,2; 3')", ("as many rows",)),
        ("markov:markovChain(id, state, 1 min, 0.3, 'a,b; 1,2; 3,x')", ("no number", "'x'")),
        ("markov:markovChain(id, state, 1 min, 0.3, 'a,a; 1,2; 3,4')", ("twice",)),
        ("markov:markovChain(id, state, 1 min, 0.3, 'a,b; 1,nan; 3,4')", ("negative",)),
        ("throughput:throughput(sent, 'speed')", ("type is 'speed'", "latency")),
        ("throughput:throughput(sent, 'both', 100001)", ("at most 100000",)),
        ("geo:geocode(id)", ("server", "table of places")),
        ("r:eval('c <- 1', 'c int', v)", ("there is no R here", "define function")),
        ("nlp:findNameEntityType('ORGANIZATION', true, id)", ("models of languages",)),
        ("tensorFlow:predict('/m', 'in', 'out', v)", ("ONNX", "#ml:predict", "http-call")),
        ("PMML:predict('/m.pmml')", ("ONNX", "#ml:predict")),
    ],
)
def test_refused(call: str, messages: tuple[str, ...]) -> None:
    """When the app is checked: why, and what to do instead."""
    with pytest.raises(SiddhiQLError) as refused:
        check(f"{STREAM}from S#{call} select id insert into O;")
    assert all(each in f"{refused.value} {refused.value.hint}" for each in messages)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("env:getSystemProperty('a')", "a template puts such values"),
        ("js:eval('1', 'int')", "define function f[javascript]"),
        ("geo:findCountryFromIP(id)", "geo:country(ip, file)"),
    ],
)
def test_refused_functions(call: str, message: str) -> None:
    """The same for functions that a query selects."""
    with pytest.raises(SiddhiQLError) as refused:
        check(f"{STREAM}from S select {call} as x insert into O;")
    assert message in str(refused.value)


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_throughput_by_the_apps_clock(executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Four events in three seconds, a line after every second one, also over a restore."""
    text = f"{STREAM}from S#throughput:throughput(sent, 'both', 2, 'mine') select id insert into O;"
    app = VirtualApp(text, executor=executor)
    for number, wait_ms in enumerate((0, 1000, 1500)):
        app.advance(wait_ms)
        app.send("S", ("x", "y", 500 * number, 1.0))
    snapshot, now = app.snapshot(), app.clock_ms
    app.close()
    app = VirtualApp.restore(text, snapshot, executor=executor, start_ms=now)
    capsys.readouterr()
    app.advance(500)
    app.send("S", ("x", "y", 2000, 1.0))
    app.close()
    written = capsys.readouterr()
    (line,) = [each for each in (written.out + written.err).splitlines() if "throughput" in each]
    for figure in (
        "mine", "events=4", "events_per_s=1.0", "events_per_s_of_all=1.3333", "mean_ms=1250",
        "mean_ms_of_all=750", "p90_ms=1500", "p99_ms=1500",
    ):  # fmt: skip
        assert figure in line, (figure, line)


def test_a_line_of_one_kind_has_its_figures_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """And none where no time has passed."""
    text = f"{STREAM}from S#throughput:throughput(sent, 'THROUGHPUT', 1) select id insert into O;"
    app = VirtualApp(text)
    app.send("S", ("x", "y", 0, 1.0))
    app.close()
    written = capsys.readouterr()
    assert "events_per_s=None" in written.out + written.err
    assert "mean_ms" not in written.out + written.err
