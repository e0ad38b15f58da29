"""From a table's definition to the table: @PrimaryKey and @Index (semantics 10)."""

from __future__ import annotations

from lockstep.events import StreamSchema
from lockstep.operators.contract import Context
from lockstep.siddhiql import ast
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.tables.meaning.table import Table


def _positions(
    annotation: ast.Annotation, definition: ast.TableDefinition, schema: StreamSchema
) -> tuple[int, ...]:
    positions = []
    for element in annotation.elements:
        position = schema.index_of(element.value.strip())
        if position is None:
            raise SiddhiQLError(
                f"@{annotation.name} of table {definition.name} names {element.value!r}",
                line=annotation.at.line,
                column=annotation.at.column,
                hint=f"its attributes are {', '.join(schema.names)}",
            )
        positions.append(position)
    return tuple(positions)


def build_table(definition: ast.TableDefinition, schema: StreamSchema, context: Context) -> Table:
    """The table of a definition, registered for snapshots under the context's path."""
    primary: tuple[int, ...] = ()
    indexed: list[int] = []
    for annotation in definition.annotations:
        name = annotation.name.lower()
        if name == "primarykey":
            primary = _positions(annotation, definition, schema)
        elif name == "index":
            # Of several columns, which a stored table may have, the first leads as in a database.
            indexed.append(_positions(annotation, definition, schema)[0])
    table = Table(schema, primary, tuple(dict.fromkeys(indexed)))
    context.register("rows", table)
    return table
