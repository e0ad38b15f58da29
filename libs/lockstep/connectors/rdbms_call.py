"""@sink(type='rdbms-call') and @source(type='rdbms-call-response') (extensions 12.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.connectors.rdbms import LOGIN, check_no_statements, check_url
from lockstep.siddhiql.catalogue import (
    Argument,
    Delivery,
    ExtensionKind,
    Overload,
    Promise,
    SignatureError,
)
from lockstep.siddhiql.catalogue.connectors import (
    BOOL,
    ConnectorExtension,
    Partner,
    option,
    options_given,
)
from lockstep.siddhiql.statements import ASKING, CHANGING, first_word, given_attributes, pieces

CALL: Final = "rdbms-call"
CALL_ANSWER: Final = "rdbms-call-response"


def parameters_of(text: str) -> tuple[str, ...]:
    """The attributes that `parameters` names."""
    return tuple(one.strip() for one in text.split(",") if one.strip())


def _call(arguments: Sequence[Argument]) -> None:
    check_url(arguments)
    given = options_given(arguments)
    check_no_statements(given.get)
    statement, gives = given.get("statement", ""), given.get("gives")
    words = CHANGING if gives is None else ASKING
    if first_word(statement) not in words:
        raise SignatureError(
            f"'statement' begins with {first_word(statement)!r}",
            f"{'without' if gives is None else 'with'} 'gives' there is {', '.join(words)}",
        )
    if gives is not None and given_attributes(gives) is None:
        raise SignatureError(f"'gives' is {gives!r}", "gives='name string, amount int'")
    marks = len(pieces(statement)) - 1
    named = len(parameters_of(given.get("parameters", "")))
    if marks != named:
        raise SignatureError(
            f"'statement' has {marks} marks '?' and 'parameters' names {named} attributes",
            "parameters='name, amount'",
        )


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SINK,
        CALL,
        (
            Overload(
                (
                    option("sink.id", needed=True),
                    option("statement", needed=True),
                    option("parameters"),
                    option("gives"),
                    option("ack.empty.result.set", BOOL),
                    *LOGIN,
                ),
                check=_call,
            ),
        ),
        doc="A statement per event, whose answer comes in by the source of the same sink.id.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="asked again; a change that was made is known",
            poison="on.error",
            pressure="one statement at a time",
            repeat="never: a change and its record are one",
        ),
        partner=Partner(
            ExtensionKind.SOURCE, (CALL_ANSWER,), "sink.id", "no source takes its answers",
            "type='rdbms', which writes rows and wants no answers",
        ),
    ),
    ConnectorExtension(
        ExtensionKind.SOURCE,
        CALL_ANSWER,
        (Overload((option("sink.id", needed=True),)),),
        doc="Answers to the statements of the sink of the same sink.id.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="the statement is asked again",
            poison="dead letter",
            pressure="statements wait",
            repeat="the first answer counts",
        ),
        partner=Partner(
            ExtensionKind.SINK, (CALL,), "sink.id", "no sink asks for its answers", "type='http'"
        ),
    ),
)  # fmt: skip
