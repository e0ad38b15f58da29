"""Write: what one can begin with, and what the browser keeps of it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from nicegui import Client, ui

from lockstep.cli.refusals import RefusedError
from lockstep.editing import formatted, known
from lockstep.events import LockstepError, UnavailableError
from lockstep.siddhiql import check
from lockstep.siddhiql.syntax.parser import MAX_TEXT_CHARACTERS
from lockstep_services.console import look
from lockstep_services.console.editor import Editor
from lockstep_services.console.pages.templates import NEW
from lockstep_services.console.pages.write import (
    BEGUN_APP,
    Sheet,
    begun_with,
    consequences,
    name_in,
    own_key,
)
from lockstep_services.console.shell import World
from tests.unit.services.console.on_a_page import press, settled, view_of

TEXT = "@app:name('Rooms') define stream S (room string);"


def test_a_template_becomes_an_app_that_can_be_changed() -> None:
    """With the defaults in place of the parameters; what is no template is left as it is."""
    text = begun_with(NEW)
    assert check(text).name == BEGUN_APP
    assert "'kitchen'" in text
    assert begun_with("define stream S (a ${kind});") == "define stream S (a ${kind});"


def test_what_a_deployment_takes_away_is_said_beforehand() -> None:
    """State, and sinks; a coordinator of an earlier release does not tell of these."""
    told = {"app": "A", "created": False, "changed": True, "begins_empty": ["query 'q'"]}
    assert consequences(told)[1:] == ["Begins empty: query 'q'"]
    whole = {**told, "begins_empty": [], "sinks_out": ["Out.0.http (5 records behind)"]}
    assert consequences(whole)[1:] == [
        "Everything goes on with its state. Nothing begins empty.",
        "Takes out the sink Out.0.http (5 records behind)",
    ]


def test_what_is_made_of_a_text_has_a_key_of_its_own() -> None:
    """Of each app, of each of its versions, and of a sample."""
    keys = [own_key("Rooms", ""), own_key("Halls", ""), own_key("Rooms", "1"), own_key("", "hot")]
    assert len(set(keys)) == 4
    assert keys[0] == "lockstep-draft:Rooms"


@pytest.mark.parametrize(
    ("source", "name"),
    [(TEXT, "Rooms"), ('@App : Name( "it\'s" ) define', "it's"), ("define stream S", "")],
)
def test_a_text_with_mistakes_has_its_apps_name(source: str, name: str) -> None:
    """As it is written."""
    assert name_in(source) == name


class Suite:
    """A coordinator that may be away, and that deploys all."""

    def __init__(self) -> None:
        self.error: LockstepError | None = None

    async def ask(self, _path: str) -> dict[str, Any]:
        """What is deployed."""
        if self.error is not None:
            raise self.error
        return {"text": TEXT}

    async def tell(self, _method: str, path: str, _body: Any) -> dict[str, Any]:
        """Of a preview and of deploying."""
        preview: dict[str, Any] = {"created": False, "changed": False, "begins_empty": []}
        return {"app": "Rooms"} if path == "/v1/apps" else {"app": "Rooms", **preview}


class Explainer:
    """A workshop that explains nothing."""

    async def explain(self, _text: str) -> dict[str, Any]:
        """No plan."""
        return {"error": {}}


class Browser:
    """What the editor in the browser is told and says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[tuple[Any, ...]] = []
        monkeypatch.setattr(Editor, "run_method", lambda _, *told, **__: self.told.append(told))
        monkeypatch.setattr(Editor, "current", self._current)
        monkeypatch.setattr(ui.navigate, "to", lambda path: self.told.append(("goes to", path)))

    @staticmethod
    async def _current(editor: Editor) -> str:
        return editor.text


def sheet_of(client: Client, suite: Suite) -> Sheet:
    """The page, with the deployed text of an app."""
    with client:
        view = view_of(suite)
        view.world = cast("World", SimpleNamespace(workshops=Explainer()))
        sheet = Sheet(view)
        sheet.build(opened=False)
        sheet.begin(TEXT, own=own_key("Rooms", ""), called="the deployed text")
    return sheet


async def test_a_draft_has_a_way_back_and_ends_with_its_deploying(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The browser says that it has begun with one; nobody else is offered a way back."""
    browser = Browser(monkeypatch)
    sheet = sheet_of(client, Suite())
    editor = sheet._editor
    assert editor is not None
    assert (editor.props["own"], editor.props["draft"]) == (
        "lockstep-draft:Rooms", "lockstep-draft",
    )  # fmt: skip
    assert (sheet._back.text, sheet._back.visible) == ("Back to the deployed text", False)
    (begun,) = [one for one in editor._event_listeners.values() if one.type == "begun"]
    editor._handle_event({"listener_id": begun.id, "args": None})
    assert sheet._back.visible
    press(client, "Back to the deployed text")
    await settled()
    assert ("setText", TEXT) in browser.told
    assert not sheet._back.visible
    press(client, "Deploy")
    await settled()
    press(client, "Upgrade")
    await settled()
    assert browser.told[-2:] == [("forget",), ("goes to", "/apps/Rooms")]


async def test_another_app_is_beside_no_text_of_the_one_before(client: Client) -> None:
    """Also while it has a mistake; a mistake in the same app leaves the deployed text there."""
    sheet = sheet_of(client, Suite())
    for source, there in (
        (TEXT + " from S select room insert into O;", True),
        (TEXT + " from S select mistake insert into O;", True),
        (TEXT.replace("Rooms", "Halls") + " from S select mistake insert into O;", False),
    ):
        await sheet._compare(source, known(source))
        assert sheet._beside.visible is there


async def test_a_text_is_laid_out_as_it_is_in_the_browser(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as this process heard of it last, and in the place of that text alone."""
    typed = "define   stream S (a int);"

    async def current(_: Editor) -> str:
        return typed

    browser = Browser(monkeypatch)
    monkeypatch.setattr(Editor, "current", current)
    await sheet_of(client, Suite())._format()
    assert browser.told == [("setText", formatted(typed), typed)]


async def test_a_text_that_is_too_long_is_deployed_whole_or_not_at_all(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to where it was cut it is an app, too: one that has lost queries."""
    head = "@app:name('Rooms') define stream S (room string);\n"
    query = "from S select room insert into Out;\n"
    begun = head + query * ((MAX_TEXT_CHARACTERS - len(head)) // len(query))
    typed = begun + "--" + " " * (MAX_TEXT_CHARACTERS - len(begun) - 3) + "\n" + query
    assert check(typed[:MAX_TEXT_CHARACTERS]).name == "Rooms"
    told: list[tuple[str, Any]] = []

    class Coordinator(Suite):
        async def tell(self, method: str, path: str, body: Any) -> dict[str, Any]:
            """Checks the text, as the real one does."""
            told.append((path, body["text"]))
            check(body["text"])
            return await super().tell(method, path, body)

    async def answer() -> str:
        return typed

    def run_method(_: Editor, name: str, *_told: Any, **_timeout: Any) -> Any:
        return answer() if name == "text" else None

    says: list[str] = []
    monkeypatch.setattr(Editor, "run_method", run_method)
    monkeypatch.setattr(look, "tell_error", lambda error: says.append(str(error)))
    sheet = sheet_of(client, Coordinator())
    editor = sheet._editor
    assert editor is not None
    (changed,) = [one for one in editor._event_listeners.values() if one.type == "change"]
    editor._handle_event({"listener_id": changed.id, "args": typed})
    press(client, "Deploy")
    for _ in range(1_000):
        if says and editor.found.problems:
            break
        await asyncio.sleep(0.01)
    assert told == [("/v1/preview", typed)]
    assert [f"longer than {MAX_TEXT_CHARACTERS} characters" in one for one in says] == [True]
    assert f"longer than {MAX_TEXT_CHARACTERS}" in editor.found.problems[0].message


async def test_a_suite_that_is_back_is_not_called_away(client: Client) -> None:
    """The line above the page goes with the first answer, of whatever kind."""
    suite = Suite()
    sheet = sheet_of(client, suite)
    for error in (None, RefusedError(404, {"title": "no such app"}, None)):
        suite.error = UnavailableError("the coordinator is away")
        await sheet._compare(TEXT, known(TEXT))
        assert sheet.view.banner.text == "the coordinator is away"
        suite.error = error
        await sheet._compare(TEXT, known(TEXT))
        assert sheet.view.banner.text == ""
