"""The language server: what this package knows, by the Language Server Protocol.

A document is read again a moment after it changed, by a process of its own: reading a long text
takes a few hundred milliseconds, and nobody who writes waits for it. Until it is done completion
goes by what was known before.
"""

from __future__ import annotations

import asyncio
import gc
import os
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import JsonRPCResponseMessage, default_converter
from pygls.workspace import PositionCodec, TextDocument

from lockstep.editing import pointing
from lockstep.editing.completing import complete
from lockstep.editing.formatting import formatted
from lockstep.editing.known import Known, Problem, at_sight, outline

READ_AFTER_S: Final = 0.15
_KINDS: Final = {
    "keyword": lsp.CompletionItemKind.Keyword,
    "attribute": lsp.CompletionItemKind.Field,
    "function": lsp.CompletionItemKind.Function,
    "annotation": lsp.CompletionItemKind.Property,
}
_SAMPLE: Final = "define stream Reading (celsius double); from Reading select "
_RANK: Final = ("attribute", "stream", "table", "window", "function", "keyword")


class Documents:
    """What is known of each open document."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._reader = _reader()

    def of(self, document: TextDocument) -> Known:
        """The newest that is known; what its definitions say while nobody has read it."""
        if document.uri not in self._known:
            self._known[document.uri] = at_sight(document.source)
        return self._known[document.uri]

    def start(self) -> None:
        """The process that reads, before there is anything to read: starting it takes as long as
        reading."""
        self._reader.submit(outline, "")

    def read_soon(self, server: LanguageServer, uri: str, after_s: float) -> None:
        """And tells its problems."""
        waiting = self._waiting.get(uri)
        if waiting is not None:
            waiting.cancel()
        self._waiting[uri] = asyncio.ensure_future(self._read(server, uri, after_s))

    async def _read(self, server: LanguageServer, uri: str, after_s: float) -> None:
        await asyncio.sleep(after_s)
        document = server.workspace.get_text_document(uri)
        loop, units = asyncio.get_running_loop(), _units_of(document)
        try:
            found = await loop.run_in_executor(self._reader, outline, document.source)
        except BrokenExecutor:  # somebody ended the process: the next change is read by a new one
            self._reader = _reader()
            return
        self._known[uri] = found
        server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, [_diagnostic(one, units) for one in found.problems])
        )

    def forget(self, uri: str) -> None:
        """It was closed."""
        self._known.pop(uri, None)

    def close(self) -> None:
        """Nothing is read any more."""
        self._reader.shutdown(wait=False, cancel_futures=True)


def _reader() -> ProcessPoolExecutor:
    # Whoever waits for completion comes before it, also while it starts.
    return ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=os.nice, initargs=(5,)
    )


def _items(text: str, offset: int, found: Known) -> list[lsp.CompletionItem]:
    return [
        _item(one.label, one.kind, one.detail, one.about, one.insert)
        for one in complete(text, offset, found)
    ]


@lru_cache(maxsize=4_096)
def _item(label: str, kind: str, detail: str, about: str, insert: str) -> lsp.CompletionItem:
    """Most are the same after each letter."""
    return lsp.CompletionItem(
        label,
        kind=_KINDS.get(kind, lsp.CompletionItemKind.Class),
        detail=detail or kind,
        documentation=about or None,
        insert_text=insert,
        sort_text=f"{_RANK.index(kind) if kind in _RANK else 9}{label}",
    )


class Units:
    """Places of a text in the units that the editor counts in: an emoji is two of UTF-16's."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self._lines = text.split("\n")
        self._codec = codec

    def range_of(self, place: pointing.Place | Problem) -> lsp.Range:
        """The same part of the text."""
        line = place.line - 1
        words = self._lines[line] if line < len(self._lines) else ""
        start, end = self._units(words, place.column - 1), self._units(words, place.end_column - 1)
        return lsp.Range(lsp.Position(line, start), lsp.Position(line, end))

    def _units(self, words: str, characters: int) -> int:
        behind = max(0, characters - len(words))
        return int(self._codec.client_num_units(words[:characters])) + behind


def _units_of(document: TextDocument) -> Units:
    return Units(document.source, document.position_codec)


def _diagnostic(problem: Problem, units: Units) -> lsp.Diagnostic:
    return lsp.Diagnostic(
        units.range_of(problem),
        f"{problem.message}\n{problem.hint}" if problem.hint else problem.message,
        severity=lsp.DiagnosticSeverity.Error,
        source="lockstep",
    )


def made(documents: Documents) -> LanguageServer:
    """A server that nobody talks to yet."""
    server = LanguageServer("lockstep", "1", converter_factory=_warm_converter)
    _add_documents(server, documents)
    _add_questions(server, documents)
    _add_changes(server, documents)
    return server


def _add_documents(server: LanguageServer, documents: Documents) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(told: lsp.DidOpenTextDocumentParams) -> None:
        documents.of(server.workspace.get_text_document(told.text_document.uri))
        documents.read_soon(server, told.text_document.uri, 0.0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(told: lsp.DidChangeTextDocumentParams) -> None:
        documents.read_soon(server, told.text_document.uri, READ_AFTER_S)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(told: lsp.DidCloseTextDocumentParams) -> None:
        documents.forget(told.text_document.uri)


def _add_questions(server: LanguageServer, documents: Documents) -> None:
    def there(told: Any) -> tuple[TextDocument, int]:
        document = server.workspace.get_text_document(told.text_document.uri)
        return document, document.offset_at_position(told.position)

    @server.feature(
        lsp.TEXT_DOCUMENT_COMPLETION,
        lsp.CompletionOptions(trigger_characters=[".", "#", "@", ":", " "]),
    )
    async def completion(told: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        document, offset = there(told)
        return _items(document.source, offset, documents.of(document))

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(told: lsp.HoverParams) -> lsp.Hover | None:
        document, offset = there(told)
        found = pointing.hover(document.source, offset, documents.of(document))
        if found is None:
            return None
        content = lsp.MarkupContent(lsp.MarkupKind.PlainText, found.text)
        return lsp.Hover(content, _units_of(document).range_of(found.place))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    async def definition(told: lsp.DefinitionParams) -> lsp.Location | None:
        document, offset = there(told)
        place = pointing.definition(document.source, offset)
        if place is None:
            return None
        return lsp.Location(document.uri, _units_of(document).range_of(place))


def _add_changes(server: LanguageServer, documents: Documents) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_RENAME)
    async def rename(told: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        document = server.workspace.get_text_document(told.text_document.uri)
        offset = document.offset_at_position(told.position)
        found = documents.of(document)
        places = pointing.occurrences(document.source, offset, found)
        if not places:
            return None
        why = pointing.refusal(document.source, offset, told.new_name, found)
        if why is not None:
            raise JsonRpcException(why, lsp.LSPErrorCodes.RequestFailed)
        units = _units_of(document)
        edits = [lsp.TextEdit(units.range_of(place), told.new_name) for place in places]
        return lsp.WorkspaceEdit({document.uri: edits})

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    async def layout(told: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        document = server.workspace.get_text_document(told.text_document.uri)
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(len(document.lines) + 1, 0))
        return [lsp.TextEdit(whole, formatted(document.source))]


def _warm_converter() -> Any:
    """Turns messages into JSON. It writes its code when it first meets a type: that is done here,
    so that the first one who asks does not wait for it."""
    converter = default_converter()  # type: ignore[no-untyped-call]
    items = _items(_SAMPLE, len(_SAMPLE), at_sight(_SAMPLE))
    converter.unstructure(JsonRPCResponseMessage("1", "2.0", items))
    return converter


def serve() -> None:
    """On standard input and output, until the editor ends it."""
    documents = Documents()
    documents.start()
    server = made(documents)
    gc.freeze()  # no collection goes again through what is loaded
    try:
        server.start_io()
    finally:
        documents.close()
