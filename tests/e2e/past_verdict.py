"""What the trial of `deploy --from` is judged by: DuckDB, which knows nothing of us, over what was
archived; and the states, as the revisions have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from lockstep.archive.naming import Logs
from lockstep.archive.place import Place
from lockstep.archive.reading import InputReader, Span
from lockstep.bus import LogName
from lockstep.execute.local import open_local
from lockstep.execute.sends import SendMemory
from lockstep.execute.sieve import sieve
from lockstep.frame import World
from lockstep.operators.state import Bytes, encode
from lockstep.operators.state import unseal as unseal_state
from lockstep.plan import plan_of
from lockstep.store import Revision
from lockstep_services.processor.state.envelope import Contents, unseal
from tests.archived_files import ArchivedFiles

OF_THE_LOG: Final = "(_sequence, _position, _ordinal)"
"""Where a row stands, which differs between the logs of two apps."""
MAX_SENDS: Final = 100_000
HUNDREDTH: Final = """
select symbol, total, trades, number, _timestamp_ms from (
  select symbol, number, _timestamp_ms, sum(volume) over w as total, row_number() over w as trades
  from read_parquet($1, hive_partitioning=false) where price >= {least}
  window w as (partition by symbol order by number)
) where trades % 100 = 0
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """A revision, and what it holds."""

    revision: Revision
    contents: Contents


async def taken(world: World, name: LogName, revision: str) -> Taken:
    """The one of that id."""
    (found,) = [one for one in await world.store.revisions.list(*name.key) if one.id == revision]
    return Taken(found, unseal(await world.store.revisions.load(revision)))


def gone_on(place: Place, name: LogName, text: str, before: Taken, up_to: int) -> bytes:
    """The state of an app that ran all the time: the one it had then, and in this process all that
    came since, up to a position."""
    plan = plan_of(text)
    executor = open_local(plan)
    executor.restore(before.contents.snapshot)
    sends = SendMemory.restored(before.contents.sends, default_limit=MAX_SENDS)
    reader = InputReader(place, Logs(name.app, name.since_ms))
    for each in reader.slices(Span(before.revision.position, up_to)):
        executor.run_encoded(sieve([one.entry for one in each], plan.schemas, sends).entries)
    found = executor.snapshot()
    executor.close()
    return found


def of_any_log(snapshot: Bytes) -> bytes:
    """A state without what belongs to one log: the position, ids of sends, the door's clock."""
    _, body = unseal_state(snapshot)
    return encode({key: value for key, value in body["engine"].items() if key != "wall"})


class Given:
    """The rows that an app has given: of its past, below `results`, and since then."""

    def __init__(self, folder: Path, app: str, results: str | None, whose: str) -> None:
        self.own = ArchivedFiles(folder, app)
        self._past: dict[str, list[str]] = {}
        if results is not None:
            whose_logs = ArchivedFiles(folder, whose).app.relative_to(folder)
            self._past = self.own.tables("output", Path(results) / whose_logs)

    @property
    def past(self) -> dict[str, list[str]]:
        """Files of each stream, of the past alone."""
        return self._past

    @property
    def all(self) -> dict[str, list[str]]:
        """Files of each stream, of both."""
        live = self.own.tables("output")
        return {name: [*self._past.get(name, []), *live.get(name, [])] for name in self.names}

    @property
    def names(self) -> Sequence[str]:
        """The streams."""
        return sorted({*self._past, *self.own.tables("output")})


def count_of(files: Sequence[str]) -> int:
    """Their rows."""
    found = duckdb.execute("select count(*) from read_parquet($1)", parameters=[list(files)])
    ((count,),) = found.fetchall()
    return int(count)


def unlike(one: Sequence[str], two: Sequence[str]) -> tuple[int, int]:
    """How many rows stand in the first alone, and in the second alone, wherever in their logs."""
    select = f"select * exclude {OF_THE_LOG} from read_parquet({{}}, hive_partitioning=false)"
    return _differences(select.format("$1"), select.format("$2"), one, two)


def hundredth_unlike(inputs: Sequence[str], rows: Sequence[str], least: float) -> tuple[int, int]:
    """How many rows of `Hundredth` are missing by SQL over what came in, and how many are there
    that SQL does not have."""
    found = "select symbol, total, trades, number, _timestamp_ms from read_parquet($2)"
    return _differences(HUNDREDTH.format(least=least), found, inputs, rows)


def past_unlike(past: Sequence[str], published: Sequence[str], up_to: int) -> int:
    """How many rows differ between the past and what was published then, identities and all."""
    columns = "select * exclude (_sequence) from read_parquet({}, hive_partitioning=false)"
    behind = f" where _position <= {up_to}"
    one, two = _differences(
        columns.format("$1") + behind, columns.format("$2") + behind, past, published
    )
    return one + two


def _differences(
    first: str, second: str, one: Sequence[str], two: Sequence[str]
) -> tuple[int, int]:
    found = []
    for select, other in ((first, second), (second, first)):
        rows = duckdb.execute(
            f"select count(*) from (({select}) except all ({other}))",
            parameters=[list(one), list(two)],
        ).fetchall()
        found.append(int(rows[0][0]))
    return found[0], found[1]
