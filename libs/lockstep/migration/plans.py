"""Execution plans and apps in any SiddhiQL: read into pieces, in the words of Siddhi 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from lockstep.migration.annotations import Annotations, Owner, plan_head
from lockstep.migration.apps import DEFINITION, QUERY, App, Block, Piece
from lockstep.migration.findings import Findings, Place
from lockstep.migration.flows import Datasources
from lockstep.migration.rewriting import Edit, Rewriter, edited
from lockstep.migration.siddhi_text import UnquotableError, commented, identifier, name_of
from lockstep.migration.statements import (
    Annotation,
    Element,
    Statement,
    annotations_of,
    end_of,
    start_of,
    statements,
    unquoted,
)
from lockstep.migration.streams import TYPES, Attribute
from lockstep.siddhiql import SiddhiQLError
from lockstep.siddhiql.syntax.lexer import Token

ARBITRARY: Final = "events have the attributes of their stream, and no others"


@dataclass
class Port:
    """A definition through which a plan takes in, or gives out, a stream of the deployment."""

    stream: str
    name: str
    attributes: tuple[Attribute, ...]
    block: Block
    place: Place


@dataclass
class Plan:
    """A plan as an app, and what it shares with receivers, publishers and other plans."""

    app: App
    imports: list[Port] = field(default_factory=list)
    exports: list[Port] = field(default_factory=list)


@dataclass(frozen=True)
class PlanText:
    """The text of a plan; `first_line` is the line of the file in which it begins."""

    name: str
    text: str
    file: str
    first_line: int = 1
    description: str = ""

    @property
    def place(self) -> Place:
        """Where it begins."""
        return Place(self.file, self.first_line)


def read_plan(given: PlanText, findings: Findings, datasources: Datasources) -> Plan:
    """The plan in pieces. What cannot be read at all stays as a comment, and is reported."""
    try:
        found, behind = statements(given.text)
    except SiddhiQLError as error:
        place = Place(given.file, given.first_line + error.line - 1)
        findings.to_decide(place, f"plan {given.name}", error.message, error.hint or "")
        app = App(given.name, given.place)
        app.tail = commented(given.text.splitlines())
        return Plan(app)
    try:
        return _Reader(given, findings, datasources).read(found, given.text[behind:])
    except UnquotableError as error:
        findings.to_decide(given.place, f"plan {given.name}", f"no string can hold {error}")
        app = App(given.name, given.place)
        app.tail = commented(given.text.splitlines())
        return Plan(app)


class _Reader:
    def __init__(self, given: PlanText, findings: Findings, datasources: Datasources) -> None:
        self._given = given
        self._text = given.text
        self._findings = findings
        self._owner = Owner(given.name, given.file, given.first_line)
        self._annotations = Annotations(given.text, self._owner, findings, datasources)
        self._partitions: dict[str, str] = {}

    def read(self, found: list[Statement], behind: str) -> Plan:
        """All statements."""
        of_plan = [one for statement in found for one in statement.annotations if _is_of_plan(one)]
        name, made = plan_head(of_plan, self._owner, self._findings)
        app = App(name or self._given.name, self._given.place)
        app.head = [Piece(text, place) for text, place in made]
        app.tail = behind.lstrip(" ;\t\r\n")
        plan = Plan(app)
        for statement in found:
            self._add(plan, statement)
        return plan

    def _add(self, plan: Plan, statement: Statement) -> None:
        kind = statement.kind
        comments = self._comments(statement)
        if not statement.body:
            if comments:
                plan.app.notes.append(" ".join(comments.split()))
            return
        if kind == "DEFINE PARTITION":
            self._keep_partition(statement)
            return
        is_definition = kind.startswith("DEFINE")
        body = Piece(self._body(statement), self._place(statement.body[0]))
        block = Block(DEFINITION if is_definition else QUERY, body, comments=comments)
        ports = []
        for one in statement.annotations:
            if _is_of_plan(one):
                continue
            if one.name.lower() in ("import", "export") and kind == "DEFINE STREAM":
                ports.append(one)
                continue
            text = self._annotations.turned(one)
            if text:
                block.above.append(Piece(text, self._owner.place(one.line)))
        if not is_definition and block.above:
            inline = "\n".join(piece.text for piece in block.above)
            block.body = Piece(f"{inline}\n{body.text}", body.place)
            block.above = []
        plan.app.blocks.append(block)
        for one in ports:
            self._port(plan, one, statement, block)

    def _comments(self, statement: Statement) -> str:
        """What stands between this statement, its annotations and the one before."""
        parts, at = [], statement.before
        for one in statement.annotations:
            parts.append(self._text[at : one.start])
            at = one.end
        if statement.body:
            parts.append(self._text[at : start_of(statement.body[0])])
        lines = "\n".join(part.strip() for part in parts if part.strip(" ;\t\r\n"))
        return "\n".join(line.strip() for line in lines.splitlines() if line.strip())

    def _place(self, token: Token) -> Place:
        return self._owner.place(int(token.line or 1))

    def _body(self, statement: Statement) -> str:
        body: Sequence[Token] = statement.body
        rewriter = Rewriter(self._text, self._given.file, self._given.first_line, self._findings)
        body, partition = self._cut_partition(body)
        body, store = self._cut_store(body)
        edits = [*self._inner_annotations(body), *rewriter.rewrite(body)]
        text = edited(self._text, start_of(body[0]), end_of(body[-1]), edits)
        if store:
            text = f"{store}\n{text}"
        if partition:
            text = f"partition with ({partition})\nbegin\n{text};\nend"
        return text

    def _inner_annotations(self, body: Sequence[Token]) -> list[Edit]:
        """Annotations of the queries inside a partition."""
        edits: list[Edit] = []
        for at, token in enumerate(body):
            if at and token.type == "AT_SIGN":
                made, _ = annotations_of(body[at:])
                for one in made:
                    old, new = self._text[one.start : one.end], self._annotations.turned(one)
                    if new != old and all(edit.start != one.start for edit in edits):
                        edits.append(Edit(one.start, one.end, new))
        return edits

    # --- definitions ------------------------------------------------------------------------------

    def _port(self, plan: Plan, one: Annotation, statement: Statement, block: Block) -> None:
        place = self._owner.place(one.line)
        given = one.elements[0].value if one.elements else ""
        stream = given if ":" in given else f"{given}:1.0.0"
        attributes = attributes_of(statement.body)
        name = unquoted_name(statement.body[2]) if len(statement.body) > 2 else ""
        port = Port(stream, name, attributes, block, place)
        (plan.imports if one.name.lower() == "import" else plan.exports).append(port)
        verb = "in from" if one.name.lower() == "import" else "out to"
        self._findings.changed(
            place,
            f"@{one.name} of {stream} as {name}",
            "an app has its own streams: sources and sinks stand in front of them",
        )
        block.comments = "\n".join(
            part for part in (block.comments, f"-- {verb} the event stream {stream}") if part
        )
        for element in one.elements[1:]:
            self._findings.to_decide(
                place, f"{element.key}={element.value!r} of @{one.name}", ARBITRARY
            )

    def _keep_partition(self, statement: Statement) -> None:
        """Siddhi 2: `define partition P by S.a, T.b`, which queries name at their ends."""
        body = statement.body
        by = next((at for at, token in enumerate(body) if token.type == "BY"), None)
        name = unquoted_name(body[2]) if len(body) > 2 else ""
        keys = [
            (unquoted_name(key[0]), unquoted_name(key[2]))
            for key in _split(body[by + 1 :] if by is not None else ())
            if len(key) == 3 and key[1].type == "_DOT"
        ]
        self._partitions[name] = ", ".join(
            f"{identifier(attribute)} of {identifier(stream)}" for stream, attribute in keys
        )
        text = self._text[start_of(body[0]) : end_of(body[-1])]
        place = self._place(body[0])
        if keys:
            self._findings.changed(place, text, "its queries stand in a partition of their own now")
        else:
            self._findings.to_decide(
                place, text, "only 'define partition P by Stream.attribute' can be taken over",
                "write: partition with (condition as 'name' or … of Stream) begin … end",
            )  # fmt: skip

    def _cut_partition(self, body: Sequence[Token]) -> tuple[Sequence[Token], str]:
        if len(body) > 3 and body[-3].type == "PARTITION" and body[-2].type == "BY":
            keys = self._partitions.get(unquoted_name(body[-1]), "")
            text = self._text[start_of(body[-3]) : end_of(body[-1])]
            place = self._place(body[-3])
            if keys:
                self._findings.changed(place, text, "the query stands in a partition now")
            else:
                self._findings.to_decide(place, text, "there is no such partition to take over")
            return body[:-3], keys
        return body, ""

    def _cut_store(self, body: Sequence[Token]) -> tuple[Sequence[Token], str]:
        """Siddhi 2: `define table T (…) from ('datasource.name'='x', 'table.name'='y')`."""
        if not body or body[0].type != "DEFINE" or len(body) < 2 or body[1].type != "TABLE":
            return body, ""
        at = next((at for at, token in enumerate(body) if token.type == "FROM"), None)
        if at is None:
            return body, ""
        return body[:at], self._annotations.turned(_as_annotation(body[at:]))


def _as_annotation(part: Sequence[Token]) -> Annotation:
    """`from (a='b')` as the annotation `@from(eventtable='rdbms', a='b')`."""
    elements = [Element("eventtable", "rdbms", int(part[0].line or 1))]
    for entry in _split(part[2:-1]):
        marks = [place for place, token in enumerate(entry) if token.type == "_ASSIGN"]
        if marks:
            key = "".join(unquoted(str(token)) for token in entry[: marks[0]])
            value = "".join(unquoted(str(token)) for token in entry[marks[0] + 1 :])
            elements.append(Element(key, value, int(entry[0].line or 1)))
    line = int(part[0].line or 1)
    return Annotation("from", tuple(elements), (), start_of(part[0]), end_of(part[-1]), line)


def _split(part: Sequence[Token]) -> list[list[Token]]:
    pieces: list[list[Token]] = [[]]
    for token in part:
        if token.type == "_COMMA":
            pieces.append([])
        else:
            pieces[-1].append(token)
    return [piece for piece in pieces if piece]


def _is_of_plan(annotation: Annotation) -> bool:
    return annotation.name.lower().startswith(("plan:", "app:"))


def unquoted_name(token: Token) -> str:
    """A name without back-quotes."""
    return str(token).strip("`")


def attributes_of(body: Sequence[Token]) -> tuple[Attribute, ...]:
    """The attributes of `define stream S (a int, …)`."""
    opened = next((at for at, token in enumerate(body) if token.type == "_LPAR"), len(body))
    return tuple(
        Attribute(unquoted_name(piece[0]), str(piece[1]).lower())
        for piece in _split([token for token in body[opened + 1 :] if token.type != "_RPAR"])
        if len(piece) == 2 and str(piece[1]).lower() in TYPES
    )


def plan_name(file: str) -> str:
    """A name for a plan that says none."""
    return name_of(file.rpartition("/")[2].rpartition(".")[0] or file)
