"""XML and JSON of the older products: read with lines, without entities, within limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from lockstep.migration.findings import Place
from lockstep.migration.secrets import is_secret, shown

MAX_FILE_BYTES: Final = 4_194_304
MAX_XML_DEPTH: Final = 64


@dataclass(frozen=True)
class SourceFile:
    """A file of the input: its name as people know it, and what is in it."""

    name: str
    data: bytes


class UnreadableError(Exception):
    """A file that cannot be taken for what it seems to be; says where and why."""

    def __init__(self, place: Place, why: str) -> None:
        super().__init__(f"{place}: {why}")
        self.place = place
        self.why = why


@dataclass
class Node:
    """An element of XML. It remembers what of it was asked for, so that nothing gets lost.

    `name` has no prefix. Declarations of namespaces are no attributes, but `namespaces`.
    """

    name: str
    written: str
    place: Place
    attributes: dict[str, str]
    namespaces: dict[str, str]
    content: list[str | Node] = field(default_factory=list)
    _taken: set[str] = field(default_factory=set)
    _text_taken: bool = False
    _visited: bool = False

    def attribute(self, name: str, default: str | None = None) -> str | None:
        """An attribute's value."""
        self._taken.add(name)
        return self.attributes.get(name, default)

    def text(self) -> str:
        """The text directly inside, without blanks around it."""
        self._text_taken = True
        return "".join(part for part in self.content if isinstance(part, str)).strip()

    def inner(self) -> str:
        """All that is inside, as XML when there are elements, else as text."""
        self.take_all()
        if not any(isinstance(part, Node) for part in self.content):
            return "".join(part for part in self.content if isinstance(part, str))
        return "".join(
            escape(part) if isinstance(part, str) else part.as_xml() for part in self.content
        ).strip()

    def as_xml(self) -> str:
        """The element with all that is in it."""
        declared = {f"xmlns:{k}" if k else "xmlns": v for k, v in self.namespaces.items() if v}
        pairs = "".join(f" {k}={quoteattr(v)}" for k, v in {**declared, **self.attributes}.items())
        if not self.content:
            return f"<{self.written}{pairs}/>"
        inside = "".join(
            escape(part) if isinstance(part, str) else part.as_xml() for part in self.content
        )
        return f"<{self.written}{pairs}>{inside}</{self.written}>"

    def elements(self, name: str | None = None) -> list[Node]:
        """The elements inside, all or those of a name."""
        found = [
            part
            for part in self.content
            if isinstance(part, Node) and (name is None or part.name == name)
        ]
        for element in found:
            element._visited = True
        return found

    def element(self, name: str) -> Node | None:
        """The first element of a name. Others of that name are left over."""
        for part in self.content:
            if isinstance(part, Node) and part.name == name:
                part._visited = True
                return part
        return None

    def take_all(self) -> None:
        """Everything inside is used."""
        self._visited = self._text_taken = True
        self._taken |= set(self.attributes)
        for part in self.content:
            if isinstance(part, Node):
                part.take_all()

    def leftovers(self) -> Iterator[tuple[Place, str]]:
        """What nobody asked for, each with its value; those of secrets stay hidden."""
        hidden = is_secret(self.attributes.get("name", ""), self.attributes)
        for name, value in self.attributes.items():
            if name not in self._taken:
                yield self.place, f"<{self.name} {name}={shown(name, value)!r}>"
        inside = "".join(part for part in self.content if isinstance(part, str)).strip()
        if inside and not self._text_taken:
            yield self.place, f"the text of <{self.name}>: {'***' if hidden else inside}"
        for part in self.content:
            if isinstance(part, Node):
                if not part._visited:
                    yield part.place, f"<{part.name}>"
                yield from part.leftovers()


def parse_xml(file: SourceFile) -> Node:
    """The root of a document. UnreadableError for none, and for any document type or entity."""
    blank = len(file.data) - len(file.data.lstrip())
    skipped = file.data[:blank].count(b"\n")
    return _Builder(file.name, skipped).parse(file.data[blank:])


class _Builder:
    def __init__(self, file: str, skipped_lines: int) -> None:
        self._file = file
        self._skipped = skipped_lines
        self._open: list[Node] = []
        self._root: Node | None = None
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True  # a long text comes in few parts: joining many takes long
        self._parser.buffer_size = 1 << 20
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def parse(self, data: bytes) -> Node:
        if len(data) > MAX_FILE_BYTES:
            raise UnreadableError(Place(self._file, 1), f"it has more than {MAX_FILE_BYTES} bytes")
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            raise UnreadableError(
                Place(self._file, self._skipped + error.lineno), f"not XML: {error}"
            ) from error
        except (LookupError, ValueError) as error:
            raise UnreadableError(Place(self._file, 1), f"not XML: {error}") from error
        if self._root is None:
            raise UnreadableError(Place(self._file, 1), "there is no element in it")
        return self._root

    @property
    def _here(self) -> Place:
        return Place(self._file, self._skipped + self._parser.CurrentLineNumber)

    def _refuse(self, *_: object) -> None:
        raise UnreadableError(self._here, "a document type or an entity is refused")

    def _start(self, written: str, given: dict[str, str]) -> None:
        if len(self._open) >= MAX_XML_DEPTH:
            raise UnreadableError(self._here, f"elements stand more than {MAX_XML_DEPTH} deep")
        spaces = {k[6:]: v for k, v in given.items() if k == "xmlns" or k.startswith("xmlns:")}
        attributes = {k: v for k, v in given.items() if k != "xmlns" and k[:6] != "xmlns:"}
        name = written.rpartition(":")[2]
        node = Node(name, written, self._here, attributes, spaces)
        if self._open:
            self._open[-1].content.append(node)
        else:
            self._root = node
        self._open.append(node)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _characters(self, text: str) -> None:
        content = self._open[-1].content
        if content and isinstance(content[-1], str):
            content[-1] += text
        else:
            content.append(text)
