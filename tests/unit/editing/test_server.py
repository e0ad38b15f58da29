"""The language server, asked by a real client over its standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from lockstep.clock import SystemClock

URI = "file:///app.siddhi"
QUERY = """@info(name='q{0}')
from Reading#window.length(5)
select room, avg(celsius) as mean{0}, count() as n
group by room
insert into Mean{0};

"""
TEXT = (
    "@app:name('Big')\ndefine stream Reading (room string, celsius double);\n\n"
    + "".join(QUERY.format(number) for number in range(83))
    + "from Reading select \n"
)


@pytest.fixture
async def editor() -> AsyncIterator[LanguageClient]:
    """A client with a server of its own that has the text open."""
    client = LanguageClient("test", "1")
    client.problems = asyncio.Queue()  # type: ignore[attr-defined]

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
    def published(told: lsp.PublishDiagnosticsParams) -> None:
        client.problems.put_nowait(told.diagnostics)  # type: ignore[attr-defined]

    await client.start_io(
        sys.executable, "-c", "from lockstep.editing.server import serve; serve()"
    )
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    item = lsp.TextDocumentItem(URI, "siddhi", 1, TEXT)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    yield client
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call]


@pytest.mark.processes
@pytest.mark.timeout(120)
async def test_an_editor_is_served(editor: LanguageClient) -> None:
    """Problems come by themselves; completion, hover, definition, rename and format answer."""
    clock, document = SystemClock(), lsp.TextDocumentIdentifier(URI)
    problems = await editor.problems.get()  # type: ignore[attr-defined]
    assert [one.range.start.line for one in problems] == [TEXT.count("\n") - 1]
    at = lsp.Position(TEXT.count("\n") - 1, len("from Reading select "))
    assert at.line > 500
    took = []
    for _ in range(10):
        started_ms = clock.monotonic_ms()
        found = await editor.text_document_completion_async(lsp.CompletionParams(document, at))
        took.append(clock.monotonic_ms() - started_ms)
    assert {"celsius", "avg"} <= {one.label for one in found}  # type: ignore[union-attr]
    print(f"completion in {TEXT.count(chr(10))} lines: {sorted(took)} ms")
    name = lsp.Position(3 + 4, len("insert into Me"))
    told = await editor.text_document_hover_async(lsp.HoverParams(document, name))
    assert "mean0 double" in told.contents.value  # type: ignore[union-attr]
    place = await editor.text_document_definition_async(lsp.DefinitionParams(document, name))
    assert place.range.start.line == 7  # type: ignore[union-attr]
    change = await editor.text_document_rename_async(lsp.RenameParams(document, name, "First"))
    assert [one.new_text for one in change.changes[URI]] == ["First"]  # type: ignore[union-attr, index]
    options = lsp.FormattingOptions(4, insert_spaces=True)
    edits = await editor.text_document_formatting_async(
        lsp.DocumentFormattingParams(document, options)
    )
    assert edits[0].new_text.startswith("@app:name('Big')\n")  # type: ignore[index]
