"""Annotations of Siddhi 1 to 4 as those of Siddhi 5."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from lockstep.migration.findings import Findings, Place
from lockstep.migration.flows import Datasources
from lockstep.migration.secrets import is_secret, masked, placeholder, without_password
from lockstep.migration.siddhi_text import quoted
from lockstep.migration.statements import Annotation, Element
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.checking.annotation_names import INSIDE

_OTHERS_WRITE: Final = "; a collection that others write is read with mode='lookup' or 'copy'"
_REPLICAS: Final = "the table is in memory here, the same on every replica, and stored with the app"
_STORES: Final = (
    "it has no store here: it is in memory, the same on every replica, and stored with the app"
)
_NO_CACHE: Final = "tables are in memory"
_NO_TTL: Final = "no row of the app's own table goes by itself: let a query delete what is old"
_ORDER: Final = "order is always kept, so nothing is asynchronous"

_TABLE_OPTIONS: Final = {
    "datasource.name": "datasource",
    "jndi.resource": "datasource",
    "datasource": "datasource",
    "table.name": "table.name",
    "jdbc.url": "jdbc.url",
    "username": "username",
    "password": "password",
    "jdbc.driver.name": "jdbc.driver.name",
}
_IN_MEMORY: Final = {"inmemory", "hazelcast", "memory"}


@dataclass(frozen=True)
class Owner:
    """What an annotation stands in front of: its name, its file, the line where the text begins."""

    name: str
    file: str
    first_line: int

    def place(self, line: int) -> Place:
        """A line of the text as a place of the input."""
        return Place(self.file, self.first_line + line - 1)


def written(annotation: Annotation, owner: Owner) -> str:
    """An annotation as it was, without its passwords."""
    parts = [_element(one, owner) for one in annotation.elements]
    parts += [written(one, owner) for one in annotation.nested]
    return f"@{annotation.name}({', '.join(parts)})" if parts else f"@{annotation.name}"


def _plain(annotation: Annotation) -> str:
    """An annotation in the form of `written`, with everything that is in it."""
    parts = [f"{one.key}=" * bool(one.key) + quoted(one.value) for one in annotation.elements]
    parts += [_plain(one) for one in annotation.nested]
    return f"@{annotation.name}({', '.join(parts)})" if parts else f"@{annotation.name}"


def _element(element: Element, owner: Owner) -> str:
    if is_secret(element.key):
        value = placeholder(owner.name, element.key)
        kept = element.value.startswith("${")
        return f"{element.key}={quoted(element.value if kept else value)}"
    value = quoted(without_password(element.value, owner.name))
    return f"{element.key}={value}" if element.key else value


class Annotations:
    """Turns annotations into those of Siddhi 5, and says what changed."""

    def __init__(
        self, text: str, owner: Owner, findings: Findings, datasources: Datasources
    ) -> None:
        self._text = text
        self._owner = owner
        self._findings = findings
        self._datasources = datasources
        self._known: dict[str, Callable[[Annotation], str]] = {
            "from": self._event_table,
            "store": self._store,
            "indexby": self._index,
            "indexedby": self._index,
            "name": self._name,
            "config": self._asynchronous,
            "dist": self._distributed,
            "source": self._connector,
            "sink": self._connector,
        }

    def turned(self, annotation: Annotation) -> str:
        """The annotation of Siddhi 5; empty where there is none."""
        self._passwords(annotation)
        turn = self._known.get(annotation.name.lower())
        new = written(annotation, self._owner) if turn is None else turn(annotation)
        as_it_was = self._text[annotation.start : annotation.end]
        return as_it_was if new.lower() == _plain(annotation).lower() else new

    def place(self, annotation: Annotation) -> Place:
        """Where an annotation stands."""
        return self._owner.place(annotation.line)

    def _passwords(self, annotation: Annotation) -> None:
        for element in annotation.elements:
            in_url = without_password(element.value, self._owner.name) != element.value
            if (is_secret(element.key) and not element.value.startswith("${")) or in_url:
                self._findings.to_decide(
                    self.place(annotation),
                    f"{element.key} of @{annotation.name}",
                    "passwords are not copied",
                    f"put it in the place of {placeholder(self._owner.name, element.key)}",
                )
        for nested in annotation.nested:
            self._passwords(nested)

    def _changed(self, annotation: Annotation, new: str, why: str) -> str:
        old = masked(written(annotation, self._owner))
        what = f"{old} → {new}" if new else old
        self._findings.changed(self.place(annotation), what, why)
        return new

    def _name(self, annotation: Annotation) -> str:
        name = annotation.elements[0].value if annotation.elements else ""
        return self._changed(annotation, f"@info(name={quoted(name)})", "Siddhi 5 says it so")

    def _index(self, annotation: Annotation) -> str:
        columns = ", ".join(quoted(one.value) for one in annotation.elements)
        return self._changed(annotation, f"@Index({columns})", "it is called so in Siddhi 5")

    def _asynchronous(self, annotation: Annotation) -> str:
        self._findings.dropped(self.place(annotation), written(annotation, self._owner), _ORDER)
        return ""

    def _distributed(self, annotation: Annotation) -> str:
        self._findings.to_decide(
            self.place(annotation),
            written(annotation, self._owner),
            "an app is cut as a whole, not query by query",
            "put @app:parallel('4') in front of the app, and see `lockstep explain`",
        )
        return ""

    # --- tables -----------------------------------------------------------------------------------

    def _event_table(self, annotation: Annotation) -> str:
        type_ = (annotation.get("eventtable") or "").lower()
        if type_ == "rdbms":
            return self._rdbms(annotation)
        return self._kept_in_memory(annotation, type_)

    def _store(self, annotation: Annotation) -> str:
        type_ = (annotation.get("type") or "").lower()
        if type_ == "redis":
            return self._redis(annotation)
        return (
            self._rdbms(annotation) if type_ == "rdbms" else self._kept_in_memory(annotation, type_)
        )

    def _redis(self, annotation: Annotation) -> str:
        """As it is, without options that mean nothing here. A password stands alone."""
        options = ["type='redis'"]
        for element in annotation.elements:
            key = element.key.lower()
            address, _, password = element.value.partition("@")
            if key == "nodes" and password:
                parts = (
                    Element(element.key, address, element.line),
                    Element("password", password, element.line),
                )
                options += [_element(part, self._owner) for part in parts]
            elif key in _options(ExtensionKind.STORE, "redis"):
                options.append(_element(element, self._owner))
            elif key != "type":
                self._findings.dropped(
                    self.place(annotation), f"{element.key}={element.value!r}", _NO_TTL
                )
        return f"@store({', '.join(options)})"

    def _kept_in_memory(self, annotation: Annotation, type_: str) -> str:
        what = masked(written(annotation, self._owner))
        if type_ in _IN_MEMORY:
            self._findings.changed(self.place(annotation), what, _REPLICAS)
        else:
            self._findings.to_decide(
                self.place(annotation), what, _STORES,
                "name a database with @store(type='rdbms', …), or leave it in memory"
                + (_OTHERS_WRITE if type_ == "mongodb" else ""),
            )  # fmt: skip
        keys = [
            self._columns(annotation, element, name)
            for element in annotation.elements
            for name in (_KEYS.get(element.key.lower()),)
            if name is not None
        ]
        return " ".join(keys)

    def _columns(self, annotation: Annotation, element: Element, name: str) -> str:
        columns = [column.split()[0] for column in element.value.split(",") if column.strip()]
        new = f"@{name}({', '.join(map(quoted, columns))})"
        self._findings.changed(
            self.place(annotation), f"{element.key}={element.value!r}", f"it is {new} here"
        )
        return new

    def _rdbms(self, annotation: Annotation) -> str:
        place = self.place(annotation)
        options = ["type='rdbms'"]
        for element in annotation.elements:
            key = element.key.lower()
            option = _TABLE_OPTIONS.get(key)
            if key in ("eventtable", "type"):
                continue
            if option == "datasource":
                section = self._datasources.name(element.value, place)
                options.append(f"datasource={quoted(section)}")
                self._findings.to_decide(
                    place, f"datasource {element.value}",
                    f"it is the section [{section}] of the datasources",
                    "fill in address and account in datasources.toml, and name it as "
                    "datasources.file",
                )  # fmt: skip
            elif option is not None or key in _options(ExtensionKind.STORE, "rdbms"):
                options.append(
                    _element(Element(option or element.key, element.value, 0), self._owner)
                )
            else:
                self._findings.dropped(place, f"{element.key}={element.value!r}", _NO_CACHE)
        options += [written(nested, self._owner) for nested in annotation.nested]
        return self._changed(
            annotation, f"@store({', '.join(options)})", "it is written so in Siddhi 5"
        )

    # --- sources and sinks ------------------------------------------------------------------------

    def _connector(self, annotation: Annotation) -> str:
        """Options that the type has not are left out; a type that is not there is refused later."""
        kind = ExtensionKind.SOURCE if annotation.name.lower() == "source" else ExtensionKind.SINK
        known = _options(kind, annotation.get("type") or "")
        parts = []
        for element in annotation.elements:
            key = element.key.lower()
            new = _RENAMED.get((kind, (annotation.get("type") or "").lower(), key))
            if new is not None and new in known:
                old, element = element.key, Element(new, element.value, element.line)
                self._findings.changed(
                    self._owner.place(element.line),
                    f"{old} of @{annotation.name}",
                    f"it is called {new}",
                )
            elif known and key not in known and key not in ("type", "on.error", "ref"):
                self._findings.to_decide(
                    self._owner.place(element.line),
                    f"{element.key}={'***' if is_secret(element.key) else element.value!r}",
                    f"a {kind.value} {annotation.get('type')!r} has no such option",
                    f"there are {', '.join(sorted(known))}",
                )
                continue
            parts.append(_element(element, self._owner))
        parts += [
            written(one, self._owner)
            for one in annotation.nested
            if _fits(one, annotation, self._owner, self._findings)
        ]
        return f"@{annotation.name.lower()}({', '.join(parts)})"


_KEYS: Final = {"primary.keys": "PrimaryKey", "primary.key": "PrimaryKey", "indices": "Index"}

_RENAMED: Final = {
    (ExtensionKind.SOURCE, "kafka", "topic"): "topic.list",
    (ExtensionKind.SOURCE, "kafka", "topics"): "topic.list",
    (ExtensionKind.SOURCE, "kafka", "partition"): "partition.no.list",
    (ExtensionKind.SINK, "kafka", "partition"): "partition.no",
    (ExtensionKind.SINK, "http", "basic.auth.user"): "basic.auth.username",
    (ExtensionKind.SINK, "log", "unique.id"): "prefix",
}
"""Options that had other names in Siddhi 4, by kind, type and old name."""


def _options(kind: ExtensionKind, type_: str) -> set[str]:
    """The options of a type in small letters; empty where there is no such type."""
    catalogue = default_catalogue()
    name = next((one for one in catalogue.names(kind) if one.lower() == type_.lower()), None)
    extension = catalogue.find(kind, None, name) if name is not None else None
    if extension is None:
        return set()
    return {one.name.lower() for one in extension.overloads[0].parameters}


def _fits(nested: Annotation, outer: Annotation, owner: Owner, findings: Findings) -> bool:
    """Whether it may stand there. What may not had no effect in Siddhi, and is left out."""
    known = INSIDE[outer.name.lower()]
    if nested.name.lower() in known:
        return True
    findings.to_decide(
        owner.place(nested.line), masked(written(nested, owner)),
        f"it had no effect: in @{outer.name} stand {' and '.join(f'@{one}' for one in known)}",
        "leave it out, or put it where it belongs: a @payload stands in the @map",
    )  # fmt: skip
    return False


def plan_head(
    annotations: Iterable[Annotation], owner: Owner, findings: Findings
) -> tuple[str, list[tuple[str, Place]]]:
    """The plan's name (empty where it has none), and annotations of the app with their places."""
    name = ""
    made: list[tuple[str, Place]] = []
    for annotation in annotations:
        key = annotation.name.partition(":")[2].lower()
        value = annotation.elements[0].value if annotation.elements else ""
        place = owner.place(annotation.line)
        old = written(annotation, owner)
        is_app = annotation.name.lower().startswith("app:")
        if key == "name":
            name = value
        elif is_app or key in ("description", "playback", "enforceorder"):
            bare = annotation.name.partition(":")[2] if is_app else key
            new = f"@app:{bare}{old[len(annotation.name) + 1 :]}"
            made.append((new, place))
            if not is_app:
                findings.changed(place, f"{old} → {new}", "apps say it so")
        elif key == "statistics":
            level = "BASIC" if value.lower() == "true" else "OFF"
            made.append((f"@app:statistics('{level}')", place))
            findings.changed(place, old, f"it is @app:statistics('{level}') here")
        elif key == "async":
            findings.dropped(place, old, _ORDER)
        elif key == "trace":
            findings.dropped(place, old, "`lockstep tail` follows a stream while it runs")
        elif key == "dist":
            findings.to_decide(
                place, old, "an app is cut as a whole, not query by query",
                "put @app:parallel('4') in front of the app, and see `lockstep explain`",
            )  # fmt: skip
        else:
            findings.to_decide(place, old, "apps have no such annotation", "leave it out")
    return name, made
