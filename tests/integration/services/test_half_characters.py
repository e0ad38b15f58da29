"""Half a character (a lone surrogate), which no log can hold, stops no app, whoever makes it."""

from __future__ import annotations

from tests.integration.services.conftest import Start

NODES = ("coordinator", "processor-1", "receiver")
MAKERS = {
    "Escaped": "json:getString(s, '$.a')",
    "Lenient": "json:toString(json:toObject(s))",
    "Inside": "json:getObject(s, '$')",
    "Python": "half(s)",
}
TEXT = (
    "@app:name('Halves') define function half[python] return object {"
    " return [chr(0xd83d)] if 'ud83d' in data[0] else data[0] };"
    " define stream In (n int, s string);"
) + "".join(f" from In select n, {make} as t insert into {out};" for out, make in MAKERS.items())


async def test_an_app_goes_on_behind_it(cluster_of: Start) -> None:
    """What comes later is published; a function of the app's author has failed, as others do."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT)
        for number, text in enumerate(['{"a":"x"}', '{"a":"\\ud83d"}', '{"a":"y"}']):
            await cluster.send(app, "In", {"n": number, "s": text})
        rows = await cluster.published_count(app, 3 * len(MAKERS) - 1)
        numbers = {out: [row.data[0] for row in rows if row.stream == out] for out in MAKERS}
        assert numbers.pop("Python") == [0, 2]
        assert all(found == [0, 1, 2] for found in numbers.values())
        assert [row.data[1] for row in rows if row.stream == "Escaped"] == ["x", "\ufffd", "y"]
