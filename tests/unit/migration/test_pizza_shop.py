"""The pizza shop of CEP 4, imported whole: valid, running, and with every part accounted for."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

from lockstep.mapping.connectors import annotated, map_of
from lockstep.mapping.registry import sink_mapper, source_mapper
from lockstep.migration import Fate, Imported, SourceFile, convert
from lockstep.siddhiql import check
from lockstep.testing import VirtualApp
from tests.older_apps.accounting import unaccounted
from tests.unit.migration import pizza_shop


@pytest.fixture(scope="module")
def imported() -> Imported:
    """All of it."""
    return convert(pizza_shop.files())


def test_one_valid_app_per_plan(imported: Imported) -> None:
    """Receivers and publishers are part of it."""
    assert [(app.name, app.valid) for app in imported.apps] == [("PizzaTill", True)]
    assert imported.artifacts == len(pizza_shop.FILES)


def test_it_runs(imported: Imported) -> None:
    """Events in, rows out, and the table is kept."""
    with VirtualApp(imported.apps[0].text) as app:
        app.send("orders", [1, "north", "margherita", 2, 8.0])
        app.send("orders", [2, "south", "funghi", 0, 9.0])
        app.send("orders", [3, "north", "funghi", 1, 9.0])
        rows = [tuple(event.data) for event in app.stream("totals")]
        kept = app.on_demand("from Branches select branch, total")
    assert rows == [("north", 16.0), ("north", 25.0)]
    assert kept == [("north", 25.0)]


def test_messages_keep_their_form(imported: Imported) -> None:
    """What senders send, and what readers read, is what it was."""
    checked = check(imported.apps[0].text)
    sources = {
        one.get("type"): source_mapper(schema, map_of(one))
        for schema, _, one in annotated(checked, "source")
    }
    body = {
        "event": {
            "metaData": {"orderId": 7},
            "correlationData": {"branch": "north"},
            "payloadData": {"pizza": "funghi", "quantity": 2, "price": 9.5},
        }
    }
    read = sources["http"].read(json.dumps(body).encode(), 0)
    assert [tuple(event.data) for chunk in read.chunks for event in chunk] == [
        (7, "north", "funghi", 2, 9.5)
    ]
    order = (
        '<o:order xmlns:o="urn:pizza"><o:id>7</o:id><o:where>north</o:where>'
        "<o:what>funghi</o:what><o:many>2</o:many><o:each>9.5</o:each></o:order>"
    )
    read = sources["mqtt"].read(order.encode(), 0)
    assert [tuple(event.data) for chunk in read.chunks for event in chunk] == [
        (7, "north", "funghi", 2, 9.5)
    ]
    with VirtualApp(imported.apps[0].text) as app:
        app.send("orders", [1, "north", "margherita", 2, 8.0])
        events = app.stream("totals")
    written = {
        one.get("type"): sink_mapper(schema, map_of(one)).write(events)[0]
        for schema, _, one in annotated(checked, "sink")
    }
    assert json.loads(written["log"]) == {"till": {"branch": "north", "total": 16.0}}
    event = ElementTree.fromstring(written["http"]).find("event/payloadData")
    assert event is not None
    assert {one.tag: one.text for one in event} == {"branch": "north", "total": "16.0"}


def test_what_there_is_not_stands_in_the_text_and_in_the_report(imported: Imported) -> None:
    """With its place and what to do."""
    found = [one for one in imported.findings if "texting" in one.what]
    assert [one.fate for one in found] == [Fate.TO_DECIDE]
    assert str(found[0].place) == "eventpublishers/texting.xml:1"
    assert "gateway" in found[0].suggestion
    assert "--   @sink(type='sms', sms.no='+94000000')" in imported.apps[0].text


@pytest.mark.parametrize("secret", pizza_shop.SECRETS)
def test_passwords_stay_where_they_are(imported: Imported, secret: str) -> None:
    """Plain or encrypted, of tables and of publishers."""
    told = str(imported)
    assert secret not in told
    assert told.count("passwords are not copied") >= len(pizza_shop.SECRETS)
    assert "${secret:office.basic.auth.password}" in imported.apps[0].text


def test_nothing_is_unaccounted(imported: Imported) -> None:
    """Counted by another reader than that of the import."""
    assert unaccounted(pizza_shop.files(), imported) == []


def test_the_accounts_see_what_is_lost(imported: Imported) -> None:
    """They would notice: a part that stands nowhere is counted."""
    more = SourceFile("x.json", pizza_shop.ORDERS.replace("what is asked", "zzlost").encode())
    assert [part.split(": ", 1)[1] for part in unaccounted([more], imported)] == ["zzlost for"]


_VALUE = re.compile(r'\w="([^"]+)"|>\s*([^<>\s][^<>]*)<')
_SAME = ("http://wso2.org", "1.0", "UTF-8")


def _values(text: str) -> list[tuple[int, int]]:
    """Where the values of an XML file stand: attributes and texts."""
    found = [(one, 1 if one[1] is not None else 2) for one in _VALUE.finditer(text)]
    return [one.span(group) for one, group in found if not one[group].startswith(_SAME)]


XML = [name for name in pizza_shop.FILES if name.endswith(".xml")]
MOST = max(len(_values(pizza_shop.FILES[name])) for name in XML)


@pytest.mark.parametrize("number", range(MOST))
def test_no_value_gets_lost(number: int) -> None:
    """Each value in turn is another one: it comes out, in an app or in the report.

    But for passwords: of those the report says that they are to be filled in.
    """
    texts = dict(pizza_shop.FILES)
    marks: dict[str, str] = {}
    for name in XML:
        values = _values(texts[name])
        if number < len(values):
            start, end = values[number]
            marks[name] = f"zz{len(marks)}mark"
            texts[name] = texts[name][:start] + marks[name] + texts[name][end:]
    done = convert([SourceFile(name, text.encode()) for name, text in texts.items()])
    told = "\n".join(
        [one.text for one in done.apps] + [f"{one.what} {one.why}" for one in done.findings]
    )
    for name, mark in marks.items():
        line = next(line for line in texts[name].splitlines() if mark in line)
        if "password" in line and f">{mark}<" in line:
            assert mark not in told
            assert "passwords are not copied" in told
        elif f'encrypted="{mark}"' not in line:
            assert mark in told, line
    assert "U2VjcmV0" not in told
