"""A payload with more texts than a message takes is refused when the app is checked."""

from __future__ import annotations

import pytest

from lockstep.mapping import check_connectors
from lockstep.siddhiql import SiddhiQLError, check


def _app(mapping: str) -> str:
    return (
        "define stream S (sym string, price double);\n"
        f"@sink(type='log', @map({mapping}))\n"
        "define stream O (sym string, price double);\n"
        "from S select sym, price insert into O;"
    )


@pytest.mark.parametrize("type_", ["json", "xml", "text", "cloudevents"])
@pytest.mark.parametrize(
    "payload",
    ["@payload('{{sym}}', '{{price}}')", "@payload(sym='{{sym}}', price='{{price}}')"],
)
def test_texts_are_not_glued_together(type_: str, payload: str) -> None:
    """These formats send one text; the error stands at the payload and says what to write."""
    text = _app(f"type='{type_}', {payload}")
    with pytest.raises(SiddhiQLError, match="@payload has 2 texts") as refused:
        check_connectors(check(text))
    assert (refused.value.line, refused.value.column) == (2, text.split("\n")[1].find("@pay") + 1)
    assert "write one text" in (refused.value.hint or "")


@pytest.mark.parametrize("type_", ["json", "xml", "text", "cloudevents"])
def test_one_text_is_taken(type_: str) -> None:
    """With a name or without, as before."""
    check_connectors(check(_app(f"type='{type_}', @payload('{{{{sym}}}}')")))
    check_connectors(check(_app(f"type='{type_}', @payload(sym='{{{{sym}}}}')")))


@pytest.mark.parametrize(
    "payload", ["@payload('{{sym}}', '{{price}}')", "@payload('{{sym}}', null='{{price}}')"]
)
def test_no_value_of_a_map_is_lost(payload: str) -> None:
    """A second value without a key would replace the first one."""
    with pytest.raises(SiddhiQLError, match="under 'null', and only one is sent") as refused:
        check_connectors(check(_app(f"type='keyvalue', {payload}")))
    assert refused.value.line == 2
    assert "give each value a key" in (refused.value.hint or "")


def test_one_value_without_a_key_is_taken() -> None:
    """As before, beside others with keys."""
    check_connectors(check(_app("type='keyvalue', @payload('{{sym}}', p='{{price}}')")))
