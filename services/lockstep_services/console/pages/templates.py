"""Templates: app texts with parameters, each with a form; and the instances that people started."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from lockstep_services.console import allowed, figures
from lockstep_services.console.look import (
    answer_of,
    attempt,
    box,
    button,
    card,
    confirmed,
    empty,
    text,
)
from lockstep_services.console.shell import View, page

Told = Mapping[str, Any]
NUMBERS: Final = frozenset({"int", "long", "float", "double"})
NEW: Final = """-- template: Room too hot
-- about: Tells when a room is hotter than it may be.
-- parameter room string = 'kitchen': The room that is watched.
-- parameter limit double from 0 to 100 = 30: Degrees.
@app:name('${app}')
define stream Reading (room string, celsius double);
@sink(type='log')
define stream TooHot (room string, celsius double);

from Reading[room == ${room} and celsius > ${limit}]
select room, celsius
insert into TooHot;
"""


def template_path(name: str) -> str:
    """The path of a template."""
    return f"/v1/templates/{quote(name, safe='')}"


def instance_path(name: str, app: str) -> str:
    """The path of an instance."""
    return f"{template_path(name)}/instances/{quote(app, safe='')}"


def range_of(parameter: Told) -> str:
    """What may be given, in words, after what it means."""
    bounds = ""
    if parameter["low"] is not None:
        bounds = f"{parameter['low']:g} to {parameter['high']:g}"
    return " · ".join(one for one in (parameter["about"], parameter["type"], bounds) if one)


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter's part of a form."""

    name: str
    read: Callable[[], Any]


def field_of(parameter: Told, value: Any) -> Field:
    """A choice, a switch or a line; empty where there is neither a value nor a default."""
    name = parameter["name"]
    if parameter["choices"]:
        chosen = ui.select(list(parameter["choices"]), value=value, label=name)
        made: Any = chosen.props("outlined dense")
    elif parameter["type"] == "bool":
        made = ui.checkbox(name, value=bool(value))
    else:
        shown = "" if value is None else str(value)
        made = ui.input(name, value=shown).props("outlined dense")
        if parameter["type"] in NUMBERS:
            made.props("inputmode=decimal")
    made.classes("full")
    text("p", range_of(parameter), "hint")
    return Field(name, lambda: made.value)


def given(fields: list[Field]) -> dict[str, Any]:
    """What was filled in; a line that was left empty counts as not given."""
    found = {one.name: one.read() for one in fields}
    return {name: value for name, value in found.items() if value not in (None, "")}


class Forms:
    """Dialogs that start, change and stop instances, and that write templates."""

    def __init__(self, view: View) -> None:
        self._suite = view.suite

    async def fill(self, template: Told, instance: Told | None = None) -> None:
        """Starts an instance, or gives one other values."""
        values = {} if instance is None else instance["values"]
        with ui.dialog() as dialog, box("dialog card"):
            text("h2", template["template"])
            text("p", template["about"], "hint")
            app = ui.input(
                "Name of the instance", value="" if instance is None else instance["app"]
            )
            app.props("outlined dense" + ("" if instance is None else " readonly")).classes("full")
            fields = [
                field_of(one, values.get(one["name"], one["default"]))
                for one in template["parameters"]
            ]

            async def send() -> None:
                """The form stays until it was taken."""
                name = app.value.strip()
                path = instance_path(template["template"], name)
                work = self._suite.tell("PUT", path, {"values": given(fields)})
                if await attempt(work, f"{name} runs") is not None:
                    dialog.submit(True)

            with box("dialog-actions"):
                button("Cancel", lambda: dialog.submit(None), kind="quiet")
                button("Start" if instance is None else "Change", send, kind="primary")
        await answer_of(dialog)

    async def stop(self, template: Told, app: str) -> None:
        """Undeploys an instance."""
        says = ("It publishes nothing more.", "What it has published stays.")
        if await confirmed(f"Stop {app}?", says, "Stop", danger=True):
            path = instance_path(template["template"], app)
            await attempt(self._suite.tell("DELETE", path), f"{app} is stopped")

    async def write(self, name: str = "") -> None:
        """A new template, or another text for one; the text says its name."""
        source = NEW
        if name:
            found = await attempt(self._suite.ask(template_path(name)))
            if found is None:
                return
            source = found["text"]
        with ui.dialog() as dialog, box("dialog card wide"):
            text("h2", name or "New template")
            area = (
                ui.textarea("Text", value=source).props("outlined autogrow").classes("full source")
            )

            async def keep() -> None:
                """The text stays until it was taken."""
                said = name_of(area.value) or name
                work = self._suite.tell("PUT", template_path(said), {"text": area.value})
                if await attempt(work, f"{said} is kept") is not None:
                    dialog.submit("kept")

            with box("dialog-actions"):
                button("Cancel", lambda: dialog.submit(None), kind="quiet")
                if name:
                    button("Remove", lambda: dialog.submit("remove"), kind="danger")
                button("Keep", keep, kind="primary")
        if await answer_of(dialog) == "remove":
            await attempt(self._suite.tell("DELETE", template_path(name)), f"{name} is removed")


def name_of(source: str) -> str:
    """What a text says its template's name is."""
    for line in source.splitlines():
        key, sign, name = line.removeprefix("--").partition(":")
        if line.startswith("--") and sign and key.strip() == "template":
            return name.strip()
    return ""


class Cards:
    """A card for each template; built anew when something has changed."""

    def __init__(self, view: View, forms: Forms) -> None:
        self._view = view
        self._forms = forms
        self._shown: list[Any] | None = None
        self._place = box("cards-of-templates")

    def show(self, found: Told) -> None:
        """All of them."""
        templates = found["templates"]
        if templates == self._shown:
            return
        self._shown = templates
        self._place.clear()
        with self._place:
            if not templates:
                empty(
                    "No template yet",
                    "A template is an app with parameters. People who may not write apps start it.",
                )
            for one in templates:
                self._card(one)

    def _card(self, template: Told) -> None:
        name = template["template"]
        with card(name, template["about"]):
            with box("dialog-actions"):
                edit = button("Text …", partial(self._forms.write, name), kind="quiet")
                self._view.allowed.offer(edit, allowed.PUT_TEMPLATE)
                button("Start …", partial(self._forms.fill, template), kind="primary")
            if not template["instances"]:
                text("p", "Nobody has started it.", "empty-line")
            for one in template["instances"]:
                self._instance(template, one)

    def _instance(self, template: Told, one: Told) -> None:
        app = one["app"]
        said = ", ".join(f"{key} = {value}" for key, value in one["values"].items())
        with box("instance-line"):
            ui.link(app, f"/apps/{quote(app, safe='')}").classes("strong")
            text("span", said, "soft")
            text("span", figures.moment(one["updated_ms"]), "hint")
            change = button("Change …", partial(self._forms.fill, template, one), kind="quiet")
            stop = button("Stop …", partial(self._forms.stop, template, app), kind="quiet")
            self._view.allowed.offer(change, allowed.START_INSTANCE, app=app)
            self._view.allowed.offer(stop, allowed.STOP_INSTANCE, app=app)


@page("/templates", "Templates")
async def build(view: View) -> None:
    """All of them, with their instances."""
    forms = Forms(view)
    with view.actions:
        new = button("New template …", forms.write)
        view.allowed.offer(new, allowed.PUT_TEMPLATE)
    cards = Cards(view, forms)
    await view.keep(lambda: view.suite.ask("/v1/templates"), cards.show, 1.0)
