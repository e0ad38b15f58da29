"""Random partitions that read inside, without a key, what they or others make: each instance gets
it that is there by then, also the one that its own event makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.property.executors_model import Apps


def _inside(apps: Apps) -> str:
    made, late, out = apps.name(), apps.name(), apps.name()
    keys = apps.pick(
        "s of S",
        "s of S, s of R",
        f"s of S, s of {late}",
        f"s of R, s of {late}",
        "i > 2 as 'a' or i < 5 as 'b' of S",
        "b of S, i > 2 as 'true' or i > 4 as 'a' of R",
    )
    sources = [word for word in ("S", "R", late) if f" of {word}" in f"{keys},".replace(",", " ")]
    makers = [
        f"from {apps.pick(*sources)}{apps.pick('', '[i > 0]', '#window.length(2)')}"
        f" select s, i insert {apps.pick('', 'all events ')}into {made};"
        for _ in range(int(apps.pick("1", "2")))
    ]
    window = apps.pick("", "", "#window.length(2)", "#window.lengthBatch(2)", "#window.time(150)")
    aggregate = apps.pick("count()", "sum(i)", "convert(i, 'long')")
    readers = [f"from {made}{window} select s, {aggregate} as n insert into {out};"]
    if apps.pick("yes", "no") == "yes":
        readers.append(f"from {made} select s, i insert into {apps.name()};")
    queries = [*readers, *makers] if apps.pick("no", "no", "yes") == "yes" else [*makers, *readers]
    timed = (
        f"from S#window.time({apps.pick('50', '200')}) select s, i insert expired events into"
        f" {late};"
    )
    partition = f"partition with ({keys}) begin {' '.join(queries)} end;"
    parts = [timed, partition] if apps.pick("yes", "no") == "yes" else [partition, timed]
    define = "".join(f"define stream {name} (s string, i int);\n" for name in (made, late))
    return define + " ".join(parts)


BROADCAST: tuple[Callable[[Apps], str], ...] = (_inside,)
