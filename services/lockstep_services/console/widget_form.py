"""The form in which a person describes a widget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from lockstep_services.console import widgets
from lockstep_services.console.feeds import sources
from lockstep_services.console.look import answer_of, attempt, box, button, tell, text
from lockstep_services.console.shell import View
from lockstep_services.console.widgets import Widget

OF = ("stream", "table", "query")


class Form:
    """Its fields; those that the kind does not want are hidden."""

    def __init__(self, view: View, apps: Sequence[str], first: Widget) -> None:
        self._view = view
        self._first = first
        self._known: dict[str, Sequence[str]] = {}
        with box("fields"):
            self.kind = ui.select(widgets.KINDS, value=first.kind, label="Shows as")
            self.app = ui.select(list(apps), value=first.app, label="App")
            self.source = ui.select([], label="Of", with_input=True, new_value_mode="add-unique")
            self.attributes = {
                name: ui.select([""], label=label)
                for name, label in (
                    ("value", "Value"), ("by", "A series for each"),
                    ("latitude", "Latitude"), ("longitude", "Longitude"),
                )
            }  # fmt: skip
            self.low = ui.number("From", value=first.low)
            self.high = ui.number("To", value=first.high)
            self.where = ui.input("Filter", value=first.where, placeholder="room == attic")
            self.title = ui.input("Title", value=first.title)
            self.width = ui.select(widgets.WIDTHS, value=first.width, label="Width")
        plain: list[Any] = [self.kind, self.app, self.source, *self.attributes.values()]
        plain += [self.low, self.high, self.where, self.title, self.width]
        for each in plain:
            each.props("outlined dense options-dense")
        self._wanted_by("map", self.attributes["latitude"], self.attributes["longitude"])
        self._wanted_by("gauge", self.low, self.high)
        self._wanted_by("line bar pie number gauge", self.attributes["value"])
        self._wanted_by("line bar pie map", self.attributes["by"])
        self.app.on_value_change(lambda: self.load())
        self.source.on_value_change(lambda: self._offer())

    def _wanted_by(self, kinds: str, *fields: Any) -> None:
        for each in fields:
            each.bind_visibility_from(self.kind, "value", lambda one: one in kinds.split())

    async def load(self, wanted: str | None = None) -> None:
        """The sources of the chosen app."""
        found = await attempt(sources(self._view.suite, str(self.app.value)))
        self._known = dict(found or {})
        chosen = wanted or next(iter(self._known), None)
        options = list(dict.fromkeys([*self._known, *([chosen] if chosen else [])]))
        self.source.set_options(options, value=chosen)
        self._offer()

    def _offer(self) -> None:
        """The attributes of the chosen source."""
        names = list(self._known.get(str(self.source.value or ""), ()))
        for name, field in self.attributes.items():
            old = field.value or getattr(self._first, name)
            if str(self.source.value or "").startswith("query") and old:
                names = [*names, old]
            field.set_options(["", *dict.fromkeys(names)], value=old if old in names else "")

    def widget(self) -> Widget:
        """As described; ValueError for a filter that is none."""
        of, _, name = str(self.source.value or "").partition(" ")
        if of not in OF:
            of, name = "query", str(self.source.value or "")
        widgets.checked_filter(self.where.value or "")
        chosen = {key: str(field.value or "") for key, field in self.attributes.items()}
        return Widget(
            kind=str(self.kind.value), app=str(self.app.value), of=of, source=name,
            title=self.title.value or name, where=self.where.value or "",
            low=self.low.value or 0.0,
            high=100.0 if self.high.value is None else self.high.value,
            width=int(self.width.value or 6), **chosen,
        )  # fmt: skip


async def asked(view: View, apps: Sequence[str], widget: Widget | None) -> Any:
    """The widget that a person describes, "delete", or None."""
    first = widget or Widget(kind="line", app=apps[0])

    def done() -> None:
        """The form stays until what it says is right."""
        try:
            dialog.submit(form.widget())
        except ValueError as error:
            tell(str(error), "warning")

    with ui.dialog() as dialog, box("dialog wide card"):
        text("h2", "Change the widget" if widget else "Add a widget")
        form = Form(view, apps, first)
        with box("dialog-actions"):
            if widget is not None:
                button("Delete", lambda: dialog.submit("delete"), kind="quiet")
            button("Cancel", lambda: dialog.submit(None), kind="quiet")
            button("Done", done, kind="primary")
    await form.load(f"{first.of} {first.source}" if first.source else None)
    return await answer_of(dialog)
