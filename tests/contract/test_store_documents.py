"""What every store promises of documents, on memory, files and a real PostgreSQL."""

from __future__ import annotations

import asyncio

from lockstep.events import Fault, LockstepError
from lockstep.store import Store
from tests.contract.test_store import address, app, store

__all__ = ["address", "app", "store"]


async def test_the_first_document_of_all_stays(store: Store, app: str) -> None:
    """Of many who begin at the same moment one is the first, and all are told the same."""
    texts = [f"{app} {number}" for number in range(12)]
    found = await asyncio.gather(*(store.documents.first(app, "id", text) for text in texts))
    assert len(set(found)) == 1
    assert found[0] in texts
    assert await store.documents.first(app, "id", "later") == found[0]
    assert await store.documents.get(app, "id") == found[0]


async def test_documents_are_kept_by_kind_and_name(store: Store, app: str) -> None:
    """The last text stays; other kinds and odd names do not meet; a deleted one is gone."""
    kind, names = f"kind-of-{app}", ("a/b", "Rooms", "größe")
    for name in names:
        await store.documents.put(kind, name, "{}")
    await store.documents.put(kind, "Rooms", '{"n": 1}')
    await store.documents.put(f"{kind}-2", "Rooms", "[]")
    assert await store.documents.names(kind) == sorted(names)
    assert await store.documents.get(kind, "Rooms") == '{"n": 1}'
    assert [await store.documents.delete(kind, "Rooms") for _ in range(2)] == [True, False]
    assert await store.documents.get(kind, "Rooms") is None


async def test_what_cannot_be_kept_is_the_senders_fault(store: Store, app: str) -> None:
    """NUL, which JSON and addresses can hold and PostgreSQL cannot: kept, or refused as that."""
    kind = f"nul-{app}"
    for name, text in (("a\0b", "{}"), ("c", '{"a": "\0"}')):
        refused: LockstepError | None = None
        try:
            await store.documents.put(kind, name, text)
        except LockstepError as error:
            refused = error
        if refused is None:
            assert await store.documents.get(kind, name) == text
        else:
            assert (refused.fault, refused.retryable) == (Fault.USER, False)
            assert "NUL" in str(refused.hint)
