"""`@map(type='avro')` of sinks: events into Avro (extensions 13.10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from fastavro.validation import ValidationError, validate

from lockstep.events import AttributeType, Event, StreamSchema
from lockstep.mapping.avro.container import container_of
from lockstep.mapping.avro.options import defined, is_container, made_of, registered
from lockstep.mapping.avro.schema import UNFIT, AvroSchema, told
from lockstep.mapping.contract import MappingError
from lockstep.mapping.options import flag, invalid, nested
from lockstep.mapping.payloads import record_maker
from lockstep.mapping.registered import HEAD, Registered, registry_of, registry_of_sink
from lockstep.plan import java
from lockstep.schemas import Kind, Wanted
from lockstep.siddhiql import ast

_NUMBERS: Final = ("int", "long", "float", "double", "decimal")
_FIT: Final[Mapping[AttributeType, frozenset[str]]] = {
    AttributeType.STRING: frozenset({"string", "enum", "bytes", "uuid", "decimal"}),
    AttributeType.INT: frozenset(_NUMBERS),
    AttributeType.LONG: frozenset(_NUMBERS),
    AttributeType.FLOAT: frozenset(("float", "double", "decimal")),
    AttributeType.DOUBLE: frozenset(("float", "double", "decimal")),
    AttributeType.BOOL: frozenset({"boolean"}),
}


class AvroSink:
    """A record per event, with a field per attribute, or those of `@payload`.

    A schema that is an array of records, and `form='container'`, hold the events of a chunk
    together. Without a schema one is made of the stream. With `use.avro.serializer` each message
    begins with the id of its schema in the registry.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._stream = schema
        self._make, self._members = record_maker(schema, annotation)
        self._is_plain = nested(annotation, "payload") is None
        self._is_container = is_container(annotation)
        self._groups = flag(annotation, "event.grouping.enabled", False)
        self._names_id = flag(annotation, "use.avro.serializer", False)
        self._defined = defined(annotation)
        self.registered = self._registered(schema, annotation)
        self._ready: _Ready | None = None
        if self.registered is None:
            self._defined = self._defined or made_of(schema, annotation)
            try:
                ready = self._prepared(self._defined)
            except MappingError as error:
                raise invalid(annotation, error.message, error.hint) from error
            if self._groups and not (self._is_container or ready.schema.is_list):
                raise invalid(
                    annotation,
                    "records alone are no group",
                    "use form='container', or a schema that is an array of records",
                )

    def _registered(
        self, stream: StreamSchema, annotation: ast.Annotation
    ) -> Registered[AvroSchema] | None:
        if self._is_container and self._names_id and registry_of(annotation) is not None:
            raise invalid(annotation, "a container file brings its schema", "leave one of both out")
        registry = registry_of_sink(annotation, names_id=self._names_id, registers="the sink's own")
        if registry is None:
            return None
        if registry.number is not None:
            own = Wanted(registry.address, Kind.AVRO, registry.number)
        else:
            text = (self._defined or made_of(stream, annotation)).text
            own = Wanted(registry.address, Kind.AVRO, subject=registry.subject, text=text)
        return Registered(registry.address, Kind.AVRO, registered, own=own, names_ids=False)

    def write(self, events: Sequence[Event]) -> list[Any]:
        """See the contract."""
        head = b""
        if self.registered is None:
            assert self._defined is not None  # made of the stream, if nothing else is there
            schema = self._defined
        else:
            number, schema = self.registered.own()
            if self._names_id:
                head = HEAD.pack(0, number)
        ready = self._prepared(schema)
        records = [ready.record(event) for event in events]
        if self._is_container:
            groups = [records] if self._groups else [[record] for record in records]
            return [container_of(schema, group) for group in groups]
        if schema.is_list:
            groups = [records] if self._groups else [[record] for record in records]
            return [head + schema.write(group) for group in groups]
        if self._groups and len(records) > 1:
            raise MappingError("records alone are no group", hint="use form='container'")
        return [head + schema.write(record) for record in records]

    def _prepared(self, schema: AvroSchema) -> _Ready:
        if self._ready is None or self._ready.schema is not schema:
            types = dict(zip(self._stream.names, self._stream.types, strict=True))
            known = types if self._is_plain else {}
            self._ready = _Ready(schema, self._make, self._members, known)
        return self._ready


class _Ready:
    """What makes records of one schema. `types`: of members that are attributes as they are.

    MappingError where the members cannot be those of the schema.
    """

    def __init__(
        self,
        schema: AvroSchema,
        make: Callable[[Event], Any],
        members: frozenset[str],
        types: Mapping[str, AttributeType],
    ) -> None:
        self.schema = schema
        self._make = make
        record = schema.record
        if record is None:
            raise MappingError(
                "the schema is no record", hint='{"type":"record","name":"R","fields":[…]}'
            )
        self._record: Any = schema.alone(record)
        fields = schema.fields()
        _check_members(fields, members)
        self._turned: list[tuple[str, Callable[[str, Any], Any]]] = []
        self._validates = not types or AttributeType.OBJECT in types.values()
        for name, type_ in types.items():
            kinds = schema.kinds(fields[name])
            if type_ is not AttributeType.OBJECT and not kinds & _FIT[type_]:
                raise MappingError(
                    f"{name!r} is {type_.value}, and in the schema {', '.join(sorted(kinds))}",
                    where=name,
                    hint="change one of both, or name the values: @payload(name='attribute')",
                )
            turn = _turning(type_, kinds)
            if turn is not None:
                self._turned.append((name, turn))
        self._nullable = {name for name, f in fields.items() if "null" in schema.kinds(f)}
        self._strict = [name for name in members if name not in self._nullable]

    def record(self, event: Event) -> Any:
        """The record of an event; MappingError when it does not fit."""
        record = self._make(event)
        for name in self._strict:
            if record[name] is None:
                raise MappingError(
                    f"{name!r} is null, which the schema does not allow",
                    where=name,
                    hint='let the field be ["null", …] in the schema',
                )
        for name, turn in self._turned:
            if record[name] is not None:
                record[name] = turn(name, record[name])
        if self._validates:
            try:
                validate(record, self._record, raise_errors=True)
            except (ValidationError, *UNFIT) as error:
                raise MappingError(f"the event does not fit the schema: {told(error)}") from error
        return record


def _check_members(fields: Mapping[str, Mapping[str, Any]], members: frozenset[str]) -> None:
    unknown = sorted(members - set(fields))
    if unknown:
        raise MappingError(
            f"the schema has no field {unknown[0]!r}",
            where=unknown[0],
            hint=f"there are {', '.join(fields)}; @payload(…) names what goes where",
        )
    missing = [name for name, f in fields.items() if name not in members and "default" not in f]
    if missing:
        raise MappingError(
            f"nothing fills the field {missing[0]!r} of the schema",
            where=missing[0],
            hint="give it a default in the schema, or name it in @payload(…)",
        )


def _turning(type_: AttributeType, kinds: frozenset[str]) -> Callable[[str, Any], Any] | None:
    """What a value has to go through; None: nothing."""
    if type_ is AttributeType.OBJECT or (type_ is AttributeType.STRING and "string" in kinds):
        return None
    if type_ is AttributeType.STRING and "bytes" in kinds:
        return lambda name, value: value.encode()
    if kinds & {"int", "long", "float", "double"}:
        is_short = type_ is AttributeType.LONG and not kinds & {"long", "float", "double"}
        return _short if is_short else None
    return _decimal if "decimal" in kinds else None


def _short(name: str, value: int) -> int:
    if not java.INT_MIN <= value <= java.INT_MAX:
        raise MappingError(f"{value} is no int of the schema", where=name)
    return value


def _decimal(name: str, value: Any) -> Decimal:
    try:
        return Decimal(str(value))
    except ArithmeticError as error:
        raise MappingError(f"{str(value)[:60]} is no decimal", where=name) from error
