"""How long an editor waits for completion. Run by `python -m tests.bench.run --part editing`.

`lockstep lsp` in a process of its own, asked by a client over its standard input and output: a
person writes a query into the middle of a text of 500 lines, and after each letter the editor asks
what may follow.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter

LINES: Final = 500
P99_MS_MAX: Final = 50
PAUSE_S: Final = 0.05
"""Between two letters: some 20 a second, faster than people write."""

URI: Final = "file:///app.siddhi"
_PART: Final = """@info(name='query{0}')
from Reading[celsius > {0}.0]#window.length({0}) as r join Room as t on r.room == t.name
select t.name, avg(r.celsius) as mean, ifThenElse(count() > 5, 'many', 'few') as how
group by t.name
having mean > {0}.5
insert into Mean{0};

partition with (room of Reading) begin
    from every e1=Reading[celsius > 30.0] -> e2=Reading[celsius > e1.celsius] within 5 min
    select e1.room, e2.celsius as rise insert into Rise{0};
end;

"""
_HEAD: Final = """@app:name('Big')
define stream Reading (room string, celsius double, humidity int);
@PrimaryKey('name')
define table Room (name string, floor int);

"""
_WRITTEN: Final = (
    "from Reading#window.time(5 min) select room, math:round(celsius) as c, "
    "str:upper(room) as name, avg(humidity) as h group by room insert into Rooms;"
)


def text_of(lines: int) -> tuple[str, int]:
    """A text of that many lines, and a line in its middle where something may be written."""
    count = (lines - _HEAD.count("\n")) // _PART.count("\n")
    parts = [_PART.format(number) for number in range(1, count + 1)]
    middle = len(parts) // 2
    head = _HEAD + "".join(parts[:middle])
    text = head + "\n" + "".join(parts[middle:])
    return text + "\n" * (lines - text.count("\n")), head.count("\n")


def _warm_converter() -> Any:
    """It has met an answer before: it writes its code then, which is none of the server's time."""
    converter = default_converter()  # type: ignore[no-untyped-call]
    item = {"label": "avg", "kind": 3, "detail": "", "documentation": "", "insertText": "avg"}
    answer = {"jsonrpc": "2.0", "id": "1", "result": [item]}
    converter.structure(answer, lsp.CompletionResponse)
    return converter


async def _asked(command: Sequence[str]) -> list[float]:
    client = LanguageClient("bench", "1", converter_factory=_warm_converter)

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
    def published(_: lsp.PublishDiagnosticsParams) -> None:
        """Problems are not asked for here."""

    await client.start_io(*command)
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    text, line = text_of(LINES)
    item = lsp.TextDocumentItem(URI, "siddhi", 1, text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    document = lsp.TextDocumentIdentifier(URI)
    took = []
    gc.freeze()  # what this client has loaded is none of the server's time
    for number, letter in enumerate(_WRITTEN):
        at, behind = lsp.Position(line, number), lsp.Position(line, number + 1)
        client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(uri=URI, version=number + 2),
                [lsp.TextDocumentContentChangePartial(range=lsp.Range(at, at), text=letter)],
            )
        )
        begun = time.perf_counter()
        found: Any = await client.text_document_completion_async(
            lsp.CompletionParams(document, behind)
        )
        took.append(1000 * (time.perf_counter() - begun))
        if _WRITTEN[: number + 1].endswith("select "):
            assert {"room", "celsius", "avg"} <= {one.label for one in found}
        await asyncio.sleep(PAUSE_S)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call]
    return took


def editing_figures() -> dict[str, Any]:
    """Milliseconds from asking to the whole answer."""
    command = Path(sys.executable).with_name("lockstep")
    took = asyncio.run(_asked((str(command), "lsp")))
    first, rest = took[0], sorted(took[1:])
    p50, p99 = rest[len(rest) // 2], rest[int(len(rest) * 0.99) - 1]
    row = {
        "name": f"completion in {LINES} lines",
        "asked": len(took),
        "first_ms": round(first, 1),
        "p50_ms": round(p50, 1),
        "p99_ms": round(p99, 1),
        "max_ms": round(rest[-1], 1),
        "below": p99 > P99_MS_MAX,
    }
    print({key: value for key, value in row.items() if key != "below" or value})
    return row
