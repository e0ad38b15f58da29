"""Texts of `.proto` as descriptors of files: messages, enums and services, proto2 and proto3.

Extensions, and options that do not change what stands in a message, are left out. Names are
resolved by Protobuf's own library when a file joins its pool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
)
from proto_schema_parser import ast
from proto_schema_parser.parser import Parser

from lockstep.mapping.contract import MappingError

MAX_TEXT_CHARACTERS: Final = 131_072
"""Of a file; the parser takes some 10 ms for a thousand."""

_ONE_AT_A_TIME: Final = Lock()
"""The parser learns from what it reads, and all parsers learn together."""

_SCALARS: Final[Mapping[str, Any]] = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in FieldDescriptorProto.Type.items()
    if name not in ("TYPE_GROUP", "TYPE_MESSAGE", "TYPE_ENUM")
}
_LABELS: Final = {
    ast.FieldCardinality.REPEATED: FieldDescriptorProto.LABEL_REPEATED,
    ast.FieldCardinality.REQUIRED: FieldDescriptorProto.LABEL_REQUIRED,
}


class _Complaints:
    """Takes what the parser has to say; the first of it ends the reading."""

    def syntaxError(  # noqa: N802, PLR0913, RUF100
        self, recognizer: Any, symbol: Any, line: int, column: int, message: str, error: Any
    ) -> None:
        """A place where the text is no .proto."""
        raise MappingError(
            f"the text is no .proto at {line}:{column + 1}: {message}"[:300],
            hint='syntax = "proto3"; message M { string name = 1; }',
        )

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None  # what it only remarks


def file_of(text: str, name: str) -> FileDescriptorProto:
    """The file of that name; MappingError with the place where the text is no .proto."""
    if len(text) > MAX_TEXT_CHARACTERS:
        raise MappingError(
            f"a text of {len(text)} characters; {MAX_TEXT_CHARACTERS} may be",
            hint="give a descriptor set instead: descriptor.set",
        )
    try:
        with _ONE_AT_A_TIME:
            parsed = Parser(setup_lexer=_listen, setup_parser=_listen).parse(text)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise MappingError(f"the text is no .proto: {error}"[:300]) from error
    if parsed.edition is not None:
        raise MappingError("editions of .proto are not read", hint='write syntax = "proto3"')
    file = FileDescriptorProto(name=name, syntax=parsed.syntax or "proto2")
    for element in parsed.file_elements:
        match element:
            case ast.Package():
                file.package = element.name
            case ast.Import():
                file.dependency.append(element.name)
            case ast.Message():
                _message(element, file.message_type.add(), file.syntax)
            case ast.Enum():
                _enum(element, file.enum_type.add())
            case ast.Service():
                _service(element, file.service.add())
            case _:
                pass
    return file


def _listen(recognizer: Any) -> None:
    recognizer.removeErrorListeners()
    recognizer.addErrorListener(_Complaints())


def _message(parsed: ast.Message, made: DescriptorProto, syntax: str) -> None:
    made.name = parsed.name
    alone: list[FieldDescriptorProto] = []
    for element in parsed.elements:
        match element:
            case ast.Field():
                field = _field(element, made, syntax)
                if syntax == "proto3" and element.cardinality is ast.FieldCardinality.OPTIONAL:
                    alone.append(field)
            case ast.MapField():
                _map(element, made)
            case ast.OneOf():
                number = len(made.oneof_decl)
                made.oneof_decl.add(name=element.name)
                for inner in element.elements:
                    if isinstance(inner, ast.Field):
                        _field(inner, made, syntax).oneof_index = number
                    elif isinstance(inner, ast.Group):
                        raise _group(inner)
            case ast.Message():
                _message(element, made.nested_type.add(), syntax)
            case ast.Enum():
                _enum(element, made.enum_type.add())
            case ast.Group():
                raise _group(element)
            case _:
                pass
    for field in alone:  # behind the others, as protoc has it
        field.proto3_optional = True
        field.oneof_index = len(made.oneof_decl)
        made.oneof_decl.add(name=f"_{field.name}")


def _field(parsed: ast.Field, made: DescriptorProto, syntax: str) -> FieldDescriptorProto:
    field = made.field.add(name=parsed.name, number=parsed.number)
    field.label = (
        FieldDescriptorProto.LABEL_OPTIONAL
        if parsed.cardinality is None
        else _LABELS.get(parsed.cardinality, FieldDescriptorProto.LABEL_OPTIONAL)
    )
    _typed(field, parsed.type)
    for option in parsed.options:
        if option.name == "packed":
            field.options.packed = option.value is True
        elif option.name == "default" and syntax == "proto2":
            value = option.value
            is_word = isinstance(value, bool)
            field.default_value = (
                str(value).lower() if is_word else str(getattr(value, "name", value))
            )
    return field


def _typed(field: FieldDescriptorProto, name: str) -> None:
    scalar = _SCALARS.get(name)
    if scalar is None:
        field.type_name = name
    else:
        field.type = scalar


def _map(parsed: ast.MapField, made: DescriptorProto) -> None:
    name = "".join(part[:1].upper() + part[1:] for part in parsed.name.split("_")) + "Entry"
    entry = made.nested_type.add(name=name)
    entry.options.map_entry = True
    for number, (part, type_) in enumerate(
        (("key", parsed.key_type), ("value", parsed.value_type)), start=1
    ):
        field = entry.field.add(name=part, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
        _typed(field, type_)
    made.field.add(
        name=parsed.name,
        number=parsed.number,
        label=FieldDescriptorProto.LABEL_REPEATED,
        type=FieldDescriptorProto.TYPE_MESSAGE,
        type_name=name,
    )


def _enum(parsed: ast.Enum, made: EnumDescriptorProto) -> None:
    made.name = parsed.name
    for element in parsed.elements:
        if isinstance(element, ast.EnumValue):
            made.value.add(name=element.name, number=element.number)
        elif isinstance(element, ast.Option) and element.name == "allow_alias":
            made.options.allow_alias = element.value is True


def _service(parsed: ast.Service, made: ServiceDescriptorProto) -> None:
    made.name = parsed.name
    for element in parsed.elements:
        if isinstance(element, ast.Method):
            made.method.add(
                name=element.name,
                input_type=element.input_type.type,
                output_type=element.output_type.type,
            )


def _group(parsed: ast.Group) -> MappingError:
    return MappingError(
        f"the group {parsed.name!r} of proto2 is not read", hint="make it a message of its own"
    )
