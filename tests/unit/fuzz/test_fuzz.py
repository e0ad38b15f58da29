"""The fuzzer itself: it draws the same for the same seed, touches everything, and sees what is
wrong."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from lockstep.frame.openapi import DOOR, document
from lockstep_services.coordinator.batch_described import BATCH
from lockstep_services.coordinator.described import OWN
from lockstep_services.coordinator.older_described import OLDER
from lockstep_services.coordinator.people_described import PEOPLE
from lockstep_services.presenter.described import ROUTES as PRESENTER
from lockstep_services.receiver.described import ROUTES as RECEIVER
from tests.fuzz.console import DOCUMENT as CONSOLE
from tests.fuzz.drawing import HUGE_BYTES, KINDS, Shot, drawn
from tests.fuzz.judging import Answer, Secrets, Wrong, judged, judged_log, taken
from tests.fuzz.messages import messages
from tests.fuzz.operations import Known, fits, misfits, operations_of

DOCUMENTS: Mapping[str, Any] = {
    "coordinator": document((*DOOR, *OWN, *BATCH, *PEOPLE, *OLDER), ["coordinator"]),
    "receiver": document((*DOOR, *RECEIVER), ["receiver"]),
    "presenter": document((*DOOR, *PRESENTER), ["presenter"]),
    "console": CONSOLE,
}
KNOWN = Known(
    "127.0.0.1:1", "good-token", "weak-token", [("", ""), ("Authorization", "Bearer x")],
    {"app": "Fuzz", "stream": "In"}, {"text": "define stream S (n long);", "role": "view"},
)  # fmt: skip
SECRETS = Secrets(["s3cret-token"], ["/work/place"], ["aiohttp"])
SHOT = Shot("receiver", "junk", "POST /x", b"POST /x HTTP/1.1\r\n\r\n", must_fail=True)


def shots(door: str, seed: int = 1, count: int = 400) -> list[Shot]:
    """As the scenario draws them."""
    operations = operations_of(DOCUMENTS[door], frozenset({"GET /healthz"}))
    return list(drawn(door, operations, KNOWN, seed=seed, count=count))


@pytest.mark.parametrize("door", DOCUMENTS)
def test_the_same_seed_draws_the_same_and_touches_every_operation(door: str) -> None:
    """Another seed draws something else; kinds are mixed."""
    found = shots(door)
    assert found == shots(door)
    assert found != shots(door, seed=2)
    names = {one.name for one in operations_of(DOCUMENTS[door], frozenset())}
    assert {one.operation for one in found} == names
    assert len({one.kind for one in found}) > 10
    assert sum(one.must_fail for one in found) > len(found) / 3


def test_every_kind_is_drawn_for_some_door() -> None:
    """None is forgotten, and huge bodies go where bodies are taken alone."""
    found = [one for door in DOCUMENTS for one in shots(door, count=1_000)]
    assert {kind.name for kind in KINDS} <= {one.kind for one in found}
    huge = [one for one in found if one.filler]
    assert huge
    assert all(one.operation.split(" ")[0] != "GET" for one in huge)
    assert all(one.size > HUGE_BYTES for one in huge)


def test_wrong_types_are_wrong() -> None:
    """A misfit fits no alternative of its schema, and every body with a schema has some."""
    for one in operations_of(DOCUMENTS["coordinator"], frozenset()):
        for name, value in misfits(one):
            assert not fits(one.properties[name], value)
        assert not one.properties or list(misfits(one))
    assert not fits({"type": "integer"}, True)
    assert fits({"anyOf": [{"type": "null"}, {"type": "string"}]}, None)


def test_what_may_be_let_in_cannot_end_the_app() -> None:
    """Where a request could do what it asks for, and that could end the app, it names another."""
    for one in shots("coordinator", count=2_000):
        if not one.must_fail and not one.operation.startswith("GET") and one.kind != "odd name":
            assert b"/Fuzz" not in one.head.split(b"\r\n")[0]


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (Answer(400, {}, '{"detail": "malformed JSON"}'), []),
        (Answer(500, {}, "oops"), [Wrong.ERROR]),
        (Answer(503, {"retry-after": "1"}, "later"), [Wrong.ERROR]),
        (Answer(0), [Wrong.ERROR]),
        (Answer(-1), [Wrong.ERROR]),
        (Answer(200, {}, "{}"), [Wrong.ACCEPTED]),
        (Answer(101), [Wrong.ACCEPTED]),
        (Answer(303, {"location": "/login"}), []),
        (Answer(303, {"set-cookie": "lockstep_token=abc; HttpOnly"}), [Wrong.ACCEPTED]),
        (Answer(303, {"set-cookie": 'lockstep_token=""; Max-Age=0'}), []),
        (Answer(401, {}, "not s3cret-token"), [Wrong.LEAK]),
        (Answer(401, {"x": "s3cret-token"}, ""), [Wrong.LEAK]),
        (Answer(400, {}, "in /work/place/x.py"), [Wrong.LEAK]),
        (Answer(400, {}, "Traceback (most recent call last):"), [Wrong.LEAK]),
        (Answer(404, {}, "root:x:0:0:root"), [Wrong.LEAK]),
        (Answer(404, {"server": "aiohttp/3"}, ""), [Wrong.LEAK]),
        (Answer(404, {}, "aiohttp/3"), [Wrong.LEAK]),
    ],
)
def test_the_judge_sees_what_is_wrong_with_an_answer(answer: Answer, wrong: list[Wrong]) -> None:
    """A planted error, a planted secret, a planted acceptance; and nothing where nothing is."""
    assert [one.wrong for one in judged(SHOT, answer, SECRETS)] == wrong


def test_the_judge_lets_pass_what_may_be() -> None:
    """Silence where the bytes are no request, and success where the request is good."""
    raw = dataclasses.replace(SHOT, may_hang_up=True)
    assert not judged(raw, Answer(0), SECRETS)
    good = dataclasses.replace(SHOT, must_fail=False)
    assert not judged(good, Answer(200, {}, "made of aiohttp, for who may see it"), SECRETS)


def test_what_is_away_for_a_while_is_told_from_what_fails() -> None:
    """It is sent again, and is an error all the same if that does not help."""
    away = Answer(503, {"retry-after": "1"})
    assert away.asks_again
    assert not Answer(503).asks_again
    assert not Answer(500, {"retry-after": "1"}).asks_again
    assert [one.wrong for one in judged(SHOT, away, SECRETS)] == [Wrong.ERROR]


def test_the_judge_reads_logs() -> None:
    """An error of the process, a traceback and a secret are found; a warning is none."""
    lines = [
        '{"message": "a message was refused", "level": "warning"}',
        '{"message": "request failed", "level": "error"}',
        "Traceback (most recent call last):",
        '{"message": "with s3cret-token", "level": "info"}',
    ]
    assert [one.wrong for one in judged_log("receiver", lines, SECRETS)] == [
        Wrong.ERROR, Wrong.LEAK, Wrong.LEAK,
    ]  # fmt: skip


def test_two_sends_under_one_key_are_seen() -> None:
    """A repeated one is not counted; a second one that counts is wrong."""
    keyed = dataclasses.replace(SHOT, key="k", must_fail=False)

    def told(accepted: int, *, duplicate: bool) -> Answer:
        return Answer(200, {}, json.dumps({"accepted": accepted, "duplicate": duplicate}))

    once, again = told(2, duplicate=False), told(2, duplicate=True)
    assert taken([(keyed, once), (keyed, again), (SHOT, Answer(400))]) == (2, [])
    events, wrong = taken([(keyed, once), (keyed, once)])
    assert (events, [one.wrong for one in wrong]) == (4, [Wrong.ACCEPTED])


def test_messages_are_drawn_by_seed() -> None:
    """Some are good; the others are bad in several ways."""
    found = list(messages("In", seed=1, count=300))
    assert found == list(messages("In", seed=1, count=300))
    assert found != list(messages("In", seed=2, count=300))
    count = Counter(one.is_good for one in found)
    assert min(count.values()) > 30
    assert len({(one.stream, tuple(one.headers)) for one in found if not one.is_good}) > 8
