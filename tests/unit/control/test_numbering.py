"""Which sinks of a new text are those of the text before, and which numbers new ones have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockstep.control import AppView, UnclearSinksError, connectors_of, numbers_after, taken_out
from lockstep.control.numbering import MAX_PAST
from lockstep.events import Life
from lockstep.plan import AppPlan, plan_of
from lockstep.store import NO_NUMBERS, Deployment, SinkNumbers, StoredDeployment


def http(to: str, more: str = "") -> str:
    """A webhook."""
    return f"@sink(type='http', publisher.url='http://h/{to}'{more}, @map(type='json'))"


def log(prefix: str = "p") -> str:
    """A line in the log."""
    return f"@sink(type='log', prefix='{prefix}')"


A, B, C, D = (http(to) for to in "abcd")
QUICK = ", socket.idle.timeout='9'"


def text_of(*sinks: str, others: str = "") -> str:
    """An app with these sinks of `Out`."""
    return (
        f"@app:name('A') define stream In (v int); {others} {' '.join(sinks)}"
        " define stream Out (v int); from In select v insert into Out;"
    )


def plan(*sinks: str, others: str = "") -> AppPlan:
    """Of the same."""
    return plan_of(text_of(*sinks, others=others))


def deployed(*texts: tuple[str, ...]) -> SinkNumbers:
    """The numbers after one text behind the other."""
    numbers, old = NO_NUMBERS, plan(*texts[0])
    for sinks in texts[1:]:
        new = plan(*sinks)
        numbers, old = numbers_after(numbers, old, new), new
    return numbers


def names(*texts: tuple[str, ...]) -> list[str]:
    """What the sinks of the last text are called, as everybody who runs or shows them does."""
    text, numbers = text_of(*texts[-1]), deployed(*texts)
    view = AppView(Deployment("A", text, "v", Life(1, 1), 1, 0, sinks=numbers), plan_of(text))
    return [one.name.removeprefix("Out.") for one in connectors_of(view)]


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (((B, A), (A,)), ["1.http"]),
        (((A,), (B, A)), ["1.http", "0.http"]),
        (((A, B), (B, A)), ["1.http", "0.http"]),
        (((A, B), (B, A), (A, B)), ["0.http", "1.http"]),
        (((A,), (log(), A)), ["1.log", "0.http"]),
        (((log(), A), (A,)), ["1.http"]),
        (((A,), (log(),)), ["1.log"]),
        (((B, A), (A,), (A, C)), ["1.http", "2.http"]),
        (((B, A), (A,), (B, A)), ["0.http", "1.http"]),
        (((B, A), (), (A,)), ["1.http"]),
        (((A, A), (A, A, A)), ["0.http", "1.http", "2.http"]),
    ],
)
def test_a_sink_keeps_its_number(texts: tuple[tuple[str, ...], ...], wanted: list[str]) -> None:
    """Wherever it stands, behind one that is new or was taken out, and when it comes back. A number
    is never another sink's."""
    assert names(*texts) == wanted


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (((B, A), (http("a", QUICK),)), ["1.http"]),
        (((B, A), (A,), (http("a", QUICK),), (D,)), ["1.http"]),
        (((A, log()), (log(), http("z"))), ["1.log", "0.http"]),
        (((A, B), (http("z"), B)), ["0.http", "1.http"]),
        (((A, B), (C, D)), ["0.http", "1.http"]),
        (((A,), (C, D)), ["0.http", "1.http"]),
        (((A,), (C, D), (A,)), ["0.http"]),
        (((A, B), (C, B), (A, C, B)), ["2.http", "0.http", "1.http"]),
        (((log("a"), log("b")), (log("b"),)), ["1.log"]),
    ],
)
def test_another_option_is_the_same_sink(
    texts: tuple[tuple[str, ...], ...], wanted: list[str]
) -> None:
    """By where it delivers; if that is another place, by its order among those that are left. Its
    old place, beside it, is a new sink's."""
    assert names(*texts) == wanted


def test_mappings_and_distributions_are_options_too() -> None:
    """One of two to the same place goes on as it is; destinations say where a sink delivers."""
    as_xml = B.replace("json", "xml")
    assert names((B, as_xml), (as_xml,)) == ["1.http"]

    def spread(to: str, more: str = "") -> str:
        return (
            f"@sink(type='http'{more}, @map(type='json'), @distribution(strategy='roundRobin',"
            f" @destination(publisher.url='http://h/{to}'),"
            " @destination(publisher.url='http://h/z')))"
        )

    assert names((spread("b"), spread("a")), (spread("a", QUICK),)) == ["1.http"]


def test_what_nobody_can_tell_is_refused() -> None:
    """One was taken out, and one may deliver elsewhere now: rows of one would be the other's."""
    with pytest.raises(UnclearSinksError) as refused:
        deployed((B, A), (C,))
    assert str(refused.value) == (
        "Out: of the 2 sinks Out.0.http, Out.1.http some are taken out, and 1 may deliver elsewhere"
        " now: which is not clear (hint: take sinks out in one deployment, change where others"
        " deliver in another)"
    )
    assert names((B, A), (), (C,)) == ["2.http"]
    by_order = numbers_after(NO_NUMBERS, plan(B, A), plan(C), refuses=False)
    assert [one.number for one in by_order.now] == [0]


def with_body(body: str, to: str = "a") -> str:
    """A webhook that gets this payload."""
    return (
        f"@sink(type='http', publisher.url='http://h/{to}', @map(type='json', @payload('{body}')))"
    )


P, Q, P2, Q2 = (with_body(body) for body in ("p", "q", "p2", "q2"))


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (((P, Q), (P, Q2)), ["0.http", "1.http"]),
        (((P, Q), (Q2, P)), ["1.http", "0.http"]),
        (((P, Q), (Q,)), ["1.http"]),
        (((P, Q), (P2, Q2)), ["0.http", "1.http"]),
        (((P, Q, B), (Q, http("b", QUICK))), ["1.http", "2.http"]),
    ],
)
def test_sinks_of_one_place_are_told_by_what_they_say(
    texts: tuple[tuple[str, ...], ...], wanted: list[str]
) -> None:
    """And by their order if as many have changed as there were."""
    assert names(*texts) == wanted


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (((P, Q), (Q,), (Q2,), (P, Q)), ["0.http", "1.http"]),
        (((P, Q), (P,), (Q, P2)), ["1.http", "0.http"]),
        (((B, P), (Q, P), (), (B, Q)), ["2.http", "0.http"]),
    ],
)
def test_a_sink_that_comes_back_goes_before_one_of_its_place(
    texts: tuple[tuple[str, ...], ...], wanted: list[str]
) -> None:
    """The other says something else now; or it had once the number of the one that comes back."""
    assert names(*texts) == wanted


@pytest.mark.parametrize("after", [(Q2,), (Q2, with_body("p", "z")), (Q2, B)])
def test_sinks_of_one_place_that_nobody_can_tell_apart_are_refused(after: tuple[str, ...]) -> None:
    """One was taken out, or delivers elsewhere now, and one of the others says something else."""
    with pytest.raises(UnclearSinksError) as refused:
        deployed((P, Q), after)
    assert str(refused.value) == (
        "Out: of the 2 sinks Out.0.http, Out.1.http some are taken out or deliver elsewhere now,"
        " and 1 may say something else: which is not clear (hint: take sinks out in one deployment,"
        " change others in another)"
    )
    by_order = numbers_after(NO_NUMBERS, plan(P, Q), plan(*after), refuses=False)
    assert by_order.now[0].number == 0


def test_numbers_of_the_text_are_not_kept() -> None:
    """Nothing is stored for most apps, as earlier releases stored nothing. Streams do not matter
    to each other, whatever their order is."""
    assert deployed((A,), (A, B), (http("a", QUICK), B)) == NO_NUMBERS
    other = f"{C} {D} define stream Other (v int);"
    moved = plan(A, others=f"{D} {C} define stream Other (v int);")
    found = numbers_after(NO_NUMBERS, plan(A, others=other), moved)
    assert [(one.stream, one.number) for one in found.now] == [
        ("Other", 1), ("Other", 0), ("Out", 0),
    ]  # fmt: skip


def test_a_text_that_nobody_can_read_any_more() -> None:
    """The sinks of the next one are numbered as it has them."""
    assert numbers_after(NO_NUMBERS, None, plan(B, A)) == NO_NUMBERS


def test_the_highest_numbers_are_remembered() -> None:
    """However many sinks came and went: a new one gets none of theirs."""
    numbers, old = NO_NUMBERS, plan(A)
    for at in range(MAX_PAST + 5):
        for sinks in ((A, http(f"n{at}")), (A,)):
            new = plan(*sinks)
            numbers, old = numbers_after(numbers, old, new), new
    assert len(numbers.past) == MAX_PAST
    found = numbers_after(numbers, old, plan(A, B))
    assert [one.number for one in found.now] == [0, MAX_PAST + 6]


def test_which_sinks_are_taken_out() -> None:
    """By the names under which they were known."""
    for texts, out in ((((B, A), (A,)), ["Out.0.http"]), (((B, A), (A,), ()), ["Out.1.http"])):
        before = deployed(*texts[:-1])
        old, new = plan(*texts[-2]), plan(*texts[-1])
        assert taken_out(before, old, numbers_after(before, old, new), new) == out
    again = numbers_after(NO_NUMBERS, plan(B, A), plan(A, B))
    assert taken_out(NO_NUMBERS, plan(B, A), again, plan(A, B)) == []


def test_they_are_stored_with_the_deployment() -> None:
    """As one more of the settings; a deployment without them has the numbers of its text."""
    one = Deployment("A", text_of(A), "v", Life(1, 1), 1, 0, {"own": "1"})
    numbered = replace(one, sinks=deployed((B, A), (A,)))
    stored = StoredDeployment.of(numbered)
    assert stored.deployment == numbered
    rest = {key: value for key, value in stored.settings.items() if key != "sink_numbers"}
    assert rest == StoredDeployment.of(one).settings
    assert replace(stored, settings=rest).deployment == one
