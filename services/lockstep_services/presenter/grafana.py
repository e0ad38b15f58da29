"""A data source for Grafana: the routes that its JSON plug-in (simpod-json-datasource) asks.

A target is `App/Stream` or `App/Stream/attribute`, with the name of a table in the stream's place,
too. Everybody sees the apps that they may view, and asks about no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import web

from lockstep.control import Catalogue
from lockstep.events import StreamSchema
from lockstep.frame.bodies import decoded, raw_body
from lockstep.frame.callers import may, require
from lockstep.rights import Permission
from lockstep.settings import PresenterSettings
from lockstep_services.presenter import grafana_described as told
from lockstep_services.presenter.api import answer
from lockstep_services.presenter.feed import AppModels, Feed
from lockstep_services.presenter.models import Shown, StreamModel, TableModel
from lockstep_services.presenter.panels import (
    DRAWN,
    TIME,
    Passes,
    Span,
    bad,
    cells,
    column,
    passing,
    points,
    text_of,
)
from lockstep_services.presenter.questions import MAX_QUERY_BYTES, Questions

MAX_ANNOTATION_BYTES: Final = 1_024
"""It comes back with each row."""
SERIES: Final = "timeserie"
TABLE: Final = "table"
_KINDS: Final = {SERIES: SERIES, "timeseries": SERIES, TABLE: TABLE}
_OPTIONS: Final[list[told.Option]] = [
    {"label": "Time series", "value": SERIES}, {"label": "Table", "value": TABLE},
]  # fmt: skip
_FIELDS: Final[list[told.Field]] = [
    {
        "label": "Show as", "name": "type", "type": "select",
        "placeholder": "as fits", "options": _OPTIONS,
    },
    {
        "label": "Query", "name": "query", "type": "textarea",
        "placeholder": "from T select *, instead of the newest rows",
    },
]  # fmt: skip
_TARGETS: Final = "a target is App/Stream or App/Stream/attribute; POST /grafana/search lists them"

T = TypeVar("T", bound=told.Asked)
Source = StreamModel | TableModel


@dataclass(frozen=True, slots=True)
class Place:
    """What a target names. None: it names less."""

    models: AppModels
    source: Source | None = None
    attribute: int | None = None

    @property
    def name(self) -> str:
        """Without the attribute."""
        app = self.models.view.name
        return app if self.source is None else f"{app}/{self.source.schema.name}"


class Grafana:
    """The routes below /grafana."""

    def __init__(
        self, feed: Feed, catalogue: Catalogue, questions: Questions, settings: PresenterSettings
    ) -> None:
        self._feed = feed
        self._catalogue = catalogue
        self._questions = questions
        self._max_body_bytes = settings.grafana_max_body_bytes
        self._max_targets = settings.grafana_max_targets
        self._max_rows = settings.grafana_max_rows

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/grafana", _works)
        router.add_get("/grafana/", _works)
        router.add_post("/grafana/search", self._search)
        router.add_post("/grafana/metrics", self._metrics)
        router.add_post("/grafana/metric-payload-options", self._options)
        router.add_post("/grafana/query", self._query)
        router.add_post("/grafana/variable", self._variable)
        router.add_post("/grafana/annotations", self._annotations)
        router.add_post("/grafana/tag-keys", self._tag_keys)
        router.add_post("/grafana/tag-values", self._tag_values)

    async def _search(self, request: web.Request) -> web.Response:
        asked = await self._read(request, told.Search)
        wanted = (asked.target or "").lower()
        found = (name for name in self._targets(request) if wanted in name.lower())
        return answer(list(islice(found, self._max_rows)))

    async def _metrics(self, request: web.Request) -> web.Response:
        await self._read(request, told.Metrics)
        names = islice(self._targets(request), self._max_rows)
        return answer([{"label": name, "value": name, "payloads": _FIELDS} for name in names])

    async def _options(self, request: web.Request) -> web.Response:
        asked = await self._read(request, told.PayloadOptions)
        if asked.name != "type":
            raise bad(f"name: '{asked.name[:40]}' offers no options", "type does")
        return answer(_OPTIONS)

    async def _query(self, request: web.Request) -> web.Response:
        panel = await self._read(request, told.Panel)
        if len(panel.targets) > self._max_targets:
            raise bad(
                f"targets: {len(panel.targets)}, and at most {self._max_targets} are answered",
                "make another panel, or set presenter.grafana_max_targets",
            )
        span, shown = Span.of(panel.range), list[Any]()
        rows = max(1, self._max_rows // max(1, len(panel.targets)))
        for target in panel.targets:
            shown += await self._shown(request, panel, target, span, rows)
        return answer(shown)

    async def _shown(
        self, request: web.Request, panel: told.Panel, target: told.Target, span: Span, limit: int
    ) -> Sequence[Any]:
        """A table, or a series of each attribute that can be drawn."""
        place, payload = await self._place(request, target.target), target.payload or {}
        query, kind = _text(payload, "query"), _kind(target.type or _text(payload, "type"))
        filters = panel.adhoc_filters or ()
        if query:
            if kind == SERIES:
                hint = "leave type out: a table with a time is drawn by panels of time series, too"
                raise bad("payload.query: rows of a query are a table", hint)
            return [await self._answered(request, place, target, query, filters, limit)]
        source = place.source
        if source is None:
            raise bad(f"'{target.target[:80]}' names an app alone", _TARGETS)
        test = passing(filters, source.schema.names, source.schema.types)
        if isinstance(source, TableModel):
            if kind == SERIES:
                raise bad(
                    f"'{place.name}' is a table, which has rows and no times",
                    "ask for type table, or for a stream or an aggregation",
                )
            found = islice((row for row in source.rows(len(source)) if test(row.data)), limit)
            return [_table(place, source.schema, found, target.ref_id)]
        rows = newest(source, span, test, limit)
        drawn = _drawn(source.schema, place.attribute)
        if kind == TABLE or (kind is None and not drawn):
            return [_table(place, source.schema, rows, target.ref_id, has_times=True)]
        if not drawn:
            hint = "name an int, long, float, double or bool, or ask for type table"
            raise bad(f"'{target.target[:80]}' holds no number to draw", hint)
        names, room = source.schema.names, _room(panel.max_data_points, limit)
        return [
            {
                "target": f"{place.name}/{names[at]}",
                "datapoints": points(rows, at, room),
                "refId": target.ref_id,
            }
            for at in drawn
        ]

    async def _answered(
        self,
        request: web.Request,
        place: Place,
        target: told.Target,
        query: str,
        filters: Iterable[told.AdHoc],
        limit: int,
    ) -> told.Rows:
        """Rows of an on-demand query that only reads."""
        if len(query.encode()) > MAX_QUERY_BYTES:
            raise bad(f"payload.query: more than {MAX_QUERY_BYTES} bytes", "send a shorter one")
        found = await self._questions.read(request, place.models.view.name, query)
        names, types = [name for name, _ in found.columns], [kind for _, kind in found.columns]
        test = passing(filters, names, types)
        columns = [column(name, kind) for name, kind in found.columns]
        rows = islice((row for row in found.rows if test(row)), limit)
        shown = [cells(row, columns) for row in rows]
        return {"type": TABLE, "columns": columns, "rows": shown, "refId": target.ref_id}

    async def _variable(self, request: web.Request) -> web.Response:
        asked = await self._read(request, told.Variable)
        target = _text(asked.payload or {}, "target")
        if not target:
            names: Iterable[str] = (models.view.name for models in self._visible(request))
        else:
            place = await self._place(request, target)
            if place.source is None:
                names = (source.schema.name for source in _sources(place.models))
            elif place.attribute is None:
                names = place.source.schema.names
            else:
                names = _values([(place.source, place.attribute)], self._max_rows)
        offered = islice(names, self._max_rows)
        return answer([{"__text": name, "__value": name} for name in offered])

    async def _annotations(self, request: web.Request) -> web.Response:
        asked = await self._read(request, told.Annotations)
        annotation = asked.annotation or {}
        if len(msgspec.json.encode(annotation)) > MAX_ANNOTATION_BYTES:
            hint = "send its name, its query, and little else"
            raise bad(f"annotation: more than {MAX_ANNOTATION_BYTES} bytes", hint)
        place = await self._place(request, _text(annotation, "query"))
        source, app = place.source, place.models.view.name
        if not isinstance(source, StreamModel):
            raise bad("annotation.query: rows of a stream alone have a time", _TARGETS)
        rows = newest(source, Span.of(asked.range), lambda _: True, self._max_rows)
        names, at = source.schema.names, place.attribute
        return answer(
            [
                {
                    "annotation": annotation,
                    "time": row.timestamp_ms,
                    "title": place.name,
                    "text": _told(names, row.data) if at is None else text_of(row.data[at]),
                    "tags": [app, source.schema.name],
                }
                for row in rows
            ]
        )

    async def _tag_keys(self, request: web.Request) -> web.Response:
        await self._read(request, told.TagKeys)
        found: dict[str, told.Tag] = {}
        for source in chain.from_iterable(map(_sources, self._visible(request))):
            for one in source.schema.attributes:
                kind = "number" if one.type.is_numeric else "string"
                found.setdefault(one.name, {"type": kind, "text": one.name})
        return answer(list(islice(found.values(), self._max_rows)))

    async def _tag_values(self, request: web.Request) -> web.Response:
        key = (await self._read(request, told.TagValues)).key
        sources = chain.from_iterable(map(_sources, self._visible(request)))
        places = [(one, at) for one in sources if (at := one.schema.index_of(key)) is not None]
        if not places:
            raise bad(f"key: there is no attribute '{key[:40]}'", "POST /grafana/tag-keys")
        return answer([{"text": value} for value in _values(places, self._max_rows)])

    def _visible(self, request: web.Request) -> Iterator[AppModels]:
        for view in self._catalogue.views:
            models = self._feed.models(view.name)
            if models is not None and may(request, Permission.VIEW, view.name):
                yield models

    def _targets(self, request: web.Request) -> Iterator[str]:
        """Streams and tables, each before its attributes."""
        for models in self._visible(request):
            for source in _sources(models):
                place = Place(models, source).name
                yield place
                yield from (f"{place}/{name}" for name in source.schema.names)

    async def _place(self, request: web.Request, target: str) -> Place:
        """Problem 400 with the names there are; ForbiddenError."""
        app, *rest = target.split("/")
        if not app or len(rest) > 2:
            raise bad(f"'{target[:80]}' is no target", _TARGETS)
        require(request, Permission.VIEW, app)
        models = await self._feed.find(app)
        if models is None:
            raise bad(f"no app named '{app[:80]}' is deployed", _TARGETS)
        if not rest:
            return Place(models)
        source = models.streams.get(rest[0]) or models.tables.get(rest[0])
        if source is None:
            known = ", ".join(one.schema.name for one in _sources(models)) or "none"
            raise bad(
                f"app '{app}' has no output stream or stored table '{rest[0][:80]}'",
                f"there are: {known}; ask other tables with a query in the payload",
            )
        at = source.schema.index_of(rest[1]) if len(rest) > 1 else None
        if len(rest) > 1 and at is None:
            known = ", ".join(source.schema.names)
            raise bad(f"'{app}/{rest[0]}' has no attribute '{rest[1][:80]}'", f"it has: {known}")
        return Place(models, source, at)

    async def _read(self, request: web.Request, kind: type[T]) -> T:
        """A body; some releases send none. Problem 400, 408, 413."""
        raw = await raw_body(request, max_bytes=self._max_body_bytes)
        found: T = decoded(raw, kind) if raw else kind()
        return found


def newest(source: StreamModel, span: Span, test: Passes, limit: int) -> list[Shown]:
    """So many of the newest rows within a span that pass, oldest first."""
    rows = (
        row
        for row in source.latest(source.total)
        if span.holds(row.timestamp_ms) and test(row.data)
    )
    return list(islice(rows, limit))[::-1]


async def _works(_request: web.Request) -> web.Response:
    return answer({"status": "ok"})


def _values(places: Iterable[tuple[Source, int]], max_rows: int) -> list[str]:
    """Of attributes, each once and in order. No more rows are looked at than are answered."""
    values = (row.data[at] for one, at in places for row in _rows(one, max_rows))
    return sorted({text_of(one) for one in islice(values, max_rows) if one is not None})


def _rows(source: Source, limit: int) -> Iterable[Shown]:
    return source.latest(limit) if isinstance(source, StreamModel) else source.rows(limit)


def _sources(models: AppModels) -> Iterator[Source]:
    yield from models.streams.values()
    yield from models.tables.values()


def _text(payload: told.Payload, name: str) -> str:
    """The query builder sends an empty text for nothing."""
    found = payload.get(name)
    if found is not None and not isinstance(found, str):
        raise bad(f"{name}: expected a text", f'the payload looks like {{"{name}": "…"}}')
    return (found or "").strip()


def _kind(given: str) -> str | None:
    if given and given not in _KINDS:
        raise bad(f"type: there is no '{given[:40]}'", f"types: {SERIES}, {TABLE}")
    return _KINDS.get(given)


def _room(given: float | None, limit: int) -> int:
    if given is None:
        return limit
    if not given >= 1:
        raise bad("maxDataPoints: expected 1 or more", "leave it out for all points")
    return int(min(given, limit))


def _drawn(schema: StreamSchema, attribute: int | None) -> list[int]:
    """Where what can be drawn stands."""
    some = range(len(schema.types)) if attribute is None else (attribute,)
    return [at for at in some if schema.types[at] in DRAWN]


def _table(
    place: Place,
    schema: StreamSchema,
    rows: Iterable[Shown],
    ref: str | None,
    *,
    has_times: bool = False,
) -> told.Rows:
    some = range(len(schema.names)) if place.attribute is None else (place.attribute,)
    columns = [column(schema.names[at], schema.types[at]) for at in some]
    times: list[told.Column] = [{"text": TIME, "type": "time"}] if has_times else []
    found = [
        [*([row.timestamp_ms] if has_times else ()), *cells([row.data[at] for at in some], columns)]
        for row in rows
    ]
    return {"type": TABLE, "columns": [*times, *columns], "rows": found, "refId": ref}


def _told(names: Sequence[str], data: Sequence[Any]) -> str:
    return ", ".join(f"{name}: {text_of(one)}" for name, one in zip(names, data, strict=True))
