"""The language server, asked by a real client over its standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

from lockstep.clock import SystemClock

URI = "file:///app.siddhi"
EMOJI = """define stream A (name string, x int);
from A[name == '\U0001f600'] select x insert into B;
from B select x, '\U0001f600' as y, nobody as z insert into C;
"""
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
    for wrong in ("a b; drop", "Mean1"):
        with pytest.raises(JsonRpcException, match=r"is (no name|taken)"):
            await editor.text_document_rename_async(lsp.RenameParams(document, name, wrong))
    options = lsp.FormattingOptions(4, insert_spaces=True)
    edits = await editor.text_document_formatting_async(
        lsp.DocumentFormattingParams(document, options)
    )
    assert edits[0].new_text.startswith("@app:name('Big')\n")  # type: ignore[index]


def _edited(text: str, edits: Sequence[lsp.TextEdit]) -> str:
    """As an editor does it: in UTF-16."""
    lines = [line.encode("utf-16-le") for line in text.split("\n")]
    for one in sorted(edits, key=lambda one: one.range.start, reverse=True):
        assert one.range.start.line == one.range.end.line
        line, start, end = one.range.start.line, one.range.start.character, one.range.end.character
        new = one.new_text.encode("utf-16-le")
        lines[line] = lines[line][: 2 * start] + new + lines[line][2 * end :]
    return "\n".join(line.decode("utf-16-le") for line in lines)


@pytest.mark.processes
@pytest.mark.timeout(120)
async def test_places_behind_an_emoji_are_right(editor: LanguageClient) -> None:
    """An editor counts in UTF-16: a rename leaves all else as it was, a mistake is underlined."""
    uri = "file:///emoji.siddhi"
    await editor.problems.get()  # type: ignore[attr-defined]
    item = lsp.TextDocumentItem(uri, "siddhi", 1, EMOJI)
    editor.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    (problem,) = await editor.problems.get()  # type: ignore[attr-defined]
    before = EMOJI.split("\n")[2].partition("nobody")[0]
    assert problem.range.start == lsp.Position(2, len(before.encode("utf-16-le")) // 2)
    document, at = lsp.TextDocumentIdentifier(uri), lsp.Position(2, len("from "))
    change = await editor.text_document_rename_async(lsp.RenameParams(document, at, "Bee"))
    edits = change.changes[uri]  # type: ignore[union-attr, index]
    assert _edited(EMOJI, edits) == EMOJI.replace("into B;", "into Bee;").replace(
        "from B ", "from Bee "
    )
    told = await editor.text_document_hover_async(lsp.HoverParams(document, at))
    assert told.range == lsp.Range(at, lsp.Position(2, len("from B")))  # type: ignore[union-attr]
