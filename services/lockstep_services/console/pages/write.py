"""Write: an app's text with problems as it is typed, its plan as a graph, what is deployed beside
it, and deploying with its consequences said first."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from lockstep.cli.refusals import RefusedError
from lockstep.editing import Known, Problem
from lockstep.events import LockstepError
from lockstep.events.paths import app_path
from lockstep.templates import filled, template_of
from lockstep_services.console import allowed, samples
from lockstep_services.console.editor import DRAFT, MAX_TEXT_CHARACTERS, Editor
from lockstep_services.console.look import (
    Cell,
    Table,
    attempt,
    box,
    button,
    card,
    confirmed,
    restyle,
    said,
    tell,
    text,
)
from lockstep_services.console.pages.templates import template_path
from lockstep_services.console.pages.versions import DRAFT_PARAMETER
from lockstep_services.console.plan_graph import mermaid, notes
from lockstep_services.console.shell import View, page

BEGUN_APP: Final = "MyApp"
STARTER: Final = """@app:name('Hot')
define stream Reading (room string, celsius double);

@info(name='mean')
from Reading#window.time(1 min)
select room, avg(celsius) as mean, count() as readings
group by room
insert into RoomMean;

@info(name='hot')
from RoomMean[mean > 30.0] select room, mean insert into HotRoom;
"""

_NAME: Final = re.compile(r"""@app\s*:\s*name\s*\(\s*(['"])(.*?)\1""", re.IGNORECASE)


def consequences(preview: Mapping[str, Any]) -> list[str]:
    """What deploying would do, in sentences."""
    app = preview["app"]
    if preview["created"]:
        return [
            f"There is no app {app} yet. It begins with the next event.",
            "Receivers take events for its streams as soon as it is deployed.",
        ]
    if not preview["changed"]:
        return ["This is the text that is deployed. Nothing changes."]
    lost, out = preview["begins_empty"], preview.get("sinks_out", ())
    says = [
        f"It replaces the deployed text of {app}. The new version is built beside the old one,"
        " which pauses for the change of state alone.",
    ]
    if not lost:
        says += ["Everything goes on with its state. Nothing begins empty."]
    says += [f"Begins empty: {one}" for one in lost]
    return [*says, *(f"Takes out the sink {one}" for one in out)]


class Sheet:
    """The page's state."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._editor: Editor | None = None
        self.deployed = ""
        self._named = ""
        """The app whose text that is."""

        self._first = ""
        self._explained: Mapping[str, Any] | None = None
        self._explained_text = ""

    def begin(self, first: str, *, own: str = "", called: str = "") -> None:
        """Puts the editor into its frame, with a text or with the browser's own draft; once.

        `own`: under which key the browser keeps what is made of this text. What it has kept is
        opened instead, with a way back to the text, which is `called` so.
        """
        if self._editor is not None:
            return
        self._first = first
        self._back.set_text(f"Back to {called}")
        with self.frame:
            self._editor = Editor(
                first, self._known, own=own, on_draft=lambda: self._back.set_visibility(True)
            )
            self._editor.props["starter"] = STARTER

    def build(self, *, opened: bool) -> None:
        """All of the page, without a text; `opened`: with the menu of what one can begin with."""
        with self.view.actions:
            with (
                ui.button("Begin with", icon="menu_book", color=None)
                .props("no-caps unelevated")
                .classes("btn"),
                ui.menu(value=opened).classes("samples") as self._begin,
            ):
                _offer("Samples", samples.apps(), self._sample)
            self._back = button("Back", lambda: self._put(self._first), kind="quiet")
            self._back.set_visibility(False)
            button("Format", self._format, tip="Format (Shift Alt F)")
            ui.link("Try it", "/try").classes("btn")
            button("Versions", self._versions, tip="Beside what was deployed earlier")
            deploy = button("Deploy", self._deploy, kind="primary")
            self.view.allowed.offer(deploy, allowed.DEPLOY)
        with box("split wide-left"):
            with box("stack"):
                self.frame = box("editor-frame")
                with box("problems card").props("aria-live=polite"):
                    self._state = text("span", "reading", "chip soft")
                    self._problems = box("stack grow").style("gap:4px")
            with box("stack"):
                self._build_plan()
                with card("Beside what is deployed", "− deployed, + yours") as self._beside:
                    self._diff = box("diff")
                self._beside.set_visibility(False)

    def _build_plan(self) -> None:
        with card("Plan", "green runs in columns, amber event by event") as panel:
            self._graph = ui.mermaid("flowchart LR", config=_MERMAID).classes("graph")
            self._no_graph = text("p", "The graph is drawn when the text is a valid app.", "soft")
            self._notes = Table(("Query", "Runs", "Rule, or why not"), empty="")
        panel.classes("plan")
        self._notes.element.classes("dense")
        self._show_plan()
        self.view.on_theme.append(lambda _: self._show_plan())

    async def _known(self, source: str, found: Known) -> None:
        self._problems.clear()
        count = len(found.problems)
        self._state.set_text("valid" if not count else f"{count} problem{'s' * (count > 1)}")
        restyle(self._state, "bad" if count else "good")
        with self._problems:
            if not count and found.app is not None:
                made = ", ".join(name for name in found.names if not name.startswith("!"))
                text("span", f"{found.app.name}: {made}", "soft")
            for one in found.problems:
                with box("row").style("gap:10px;align-items:baseline;flex-wrap:nowrap"):
                    place = ui.link(f"{one.line}:{one.column}", "#").classes("mono")
                    place.on("click.prevent", lambda one=one: self._go_to(one))
                    hint = f" – {one.hint}" if one.hint else ""
                    text("span", f"{one.message}{hint}", "wrap")
        await self._compare(source, found)
        if found.app is not None and source != self._explained_text:
            await self._explain(source)

    async def _explain(self, source: str) -> None:
        self._explained_text = source
        try:
            found = await self.view.world.workshops.explain(source)
        except LockstepError as error:
            self._no_graph.set_text(said(error))
            return
        if source == self._explained_text and "error" not in found:
            self._explained = found
            self._show_plan()

    def _show_plan(self) -> None:
        shown = self._explained
        for element in (self._graph, self._notes.element):
            element.set_visibility(shown is not None)
        self._no_graph.set_visibility(shown is None)
        if shown is not None:
            self._graph.set_content(mermaid(shown, is_dark=self.view.is_dark))
            self._notes.show(
                [
                    [name, Cell(engine, chip="good" if engine == "columns" else "warn"),
                     Cell(why, "wrap")]
                    for name, engine, why in notes(shown)
                ]
            )  # fmt: skip

    async def _compare(self, source: str, found: Known) -> None:
        """Beside the deployed text of the same app, if there is one."""
        name = name_in(source) if found.app is None else found.app.name
        if name != self._named:
            self._named, self.deployed = name, ""
        if found.app is not None:
            try:
                self.deployed = (await self.view.suite.ask(app_path(found.app.name)))["text"]
                self.view.trouble("")
            except RefusedError:
                self.deployed = ""
                self.view.trouble("")
            except LockstepError as error:
                self.view.trouble(said(error))
        can_compare = self.deployed and len(source) <= MAX_TEXT_CHARACTERS
        rows = changed_lines(self.deployed, source) if can_compare else []
        self._beside.set_visibility(bool(rows))
        self._diff.clear()
        with self._diff:
            for sign, line in rows:
                text("div", f"{sign} {line}", {"+": "add", "-": "del"}.get(sign, ""))

    def offer_templates(self, found: Mapping[str, Any]) -> None:
        """Below the samples, when the suite has told which there are."""
        names = {one["template"]: one["about"] for one in found["templates"]}
        if names:
            with self._begin:
                _offer("Templates", names, self._template)

    async def _template(self, name: str) -> None:
        found = await attempt(self.view.suite.ask(template_path(name)))
        if found is not None:
            await self._put(begun_with(found["text"]))

    async def _sample(self, name: str) -> None:
        await self._put(samples.app_text(name))

    def _go_to(self, problem: Problem) -> None:
        if self._editor is not None:
            self._editor.go_to(problem)

    async def _put(self, source: str) -> None:
        """In place of what is written, or where a text is awaited still."""
        if self._editor is None:
            self.begin(source)
        else:
            await self._editor.put(source)
            if source == self._first:
                self._back.set_visibility(False)

    async def _format(self) -> None:
        if self._editor is not None:
            await self._editor.format()

    async def _versions(self) -> None:
        """Beside this text, which the browser keeps meanwhile."""
        if self._editor is None or self._editor.found.app is None:
            tell("Versions are those of an app: the text has to be a valid one.", "warning")
            return
        source = await self._editor.current()
        await ui.run_javascript(
            f"localStorage.setItem({json.dumps(DRAFT)}, {json.dumps(source)})", timeout=10.0
        )
        name = quote(self._editor.found.app.name, safe="")
        ui.navigate.to(f"/apps/{name}/versions?right={DRAFT_PARAMETER}")

    async def _deploy(self) -> None:
        if self._editor is None:
            tell("The text is still awaited.", "warning")
            return
        suite, source = self.view.suite, await self._editor.current()
        preview = await attempt(suite.tell("POST", "/v1/preview", {"text": source}))
        if preview is None:
            return
        action = "Deploy" if preview["created"] else "Upgrade"
        lost = bool(preview["begins_empty"])
        title = f"{action} {preview['app']}?"
        if not await confirmed(title, consequences(preview), action, danger=lost):
            return
        done = await attempt(suite.tell("PUT", "/v1/apps", {"text": source}))
        if done is not None:
            self._editor.forget()
            ui.navigate.to(app_path(done["app"]).removeprefix("/v1"))


def own_key(app: str, of: str) -> str:
    """Under which the browser keeps what is made of an app's text, of its version `of`, or of a
    sample."""
    return f"{DRAFT}:{app}:{of}" if of else f"{DRAFT}:{app}"


def _offer(title: str, names: Mapping[str, str], take: Callable[[str], Awaitable[None]]) -> None:
    text("div", title, "menu-title")
    for name, about in names.items():
        with ui.menu_item(on_click=partial(take, name)), box():
            text("b", name)
            text("div", about, "hint")


_MERMAID: Final = {
    "theme": "base", "securityLevel": "strict", "fontFamily": "inherit",
    "flowchart": {"htmlLabels": True, "curve": "basis", "nodeSpacing": 28, "rankSpacing": 36},
    "themeVariables": {"fontSize": "13px"},
}  # fmt: skip


def changed_lines(old: str, new: str) -> Sequence[tuple[str, str]]:
    """The lines that differ, with three around them; none when nothing does."""
    found = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3)
    return [(line[0], line[1:]) for line in found if not line.startswith(("---", "+++", "@@"))]


def name_in(source: str) -> str:
    """The app's name as it is written, also in a text with mistakes; empty where there is none."""
    found = _NAME.search(source)
    return found[2] if found else ""


def begun_with(source: str) -> str:
    """An app made of a template's defaults, or of examples where it has none; a text that makes no
    app is left as it is."""
    try:
        template = template_of(source)
        values = {one.name: one.example for one in template.parameters}
        return filled(template, BEGUN_APP, values)
    except LockstepError:
        return source


@page("/write", "Write")
async def build(view: View) -> None:
    """The text that the address names: of an app or a sample, else the browser's own draft."""
    app = view.parameter("app")
    sample = view.parameter("sample") if view.parameter("sample") in samples.apps() else ""
    number = view.parameter("version")
    path = f"{app_path(app)}/versions/{quote(number, safe='')}" if number else app_path(app)
    sheet = Sheet(view)
    sheet.build(opened=bool(view.parameter("samples")))
    if app:
        with sheet.frame:
            own = own_key(app, number)
            called = f"version {number}" if number else "the deployed text"
            await view.once(
                lambda: view.suite.ask(path),
                lambda found: sheet.begin(found["text"], own=own, called=called),
            )
    elif sample:
        sheet.begin(samples.app_text(sample), own=own_key("", sample), called="the sample")
    else:
        sheet.begin("")
    await view.once(lambda: view.suite.ask("/v1/templates"), sheet.offer_templates, says="")
