"""What is erased over REST is in no file of the archive any more: of no life of an app, deployed or
not, of no past and of no back-test; and nobody can read in the audit log whom it was about."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import OUTPUT, Logs
from lockstep.archive.place import Place
from lockstep.archive.reading import lives_of
from lockstep.archive.tables import Table
from lockstep.events import UnavailableError
from lockstep.history.backtest import Wanted, backtest, run_here
from lockstep.settings import load_settings
from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start
from tests.integration.services.pasts import ALONE, archived, deploy_from, done

BOB, ANN = "bob-7f3a91", "ann-58c20e"
APP = "@app:name('Shop') define stream Pay ({attributes});"
RULE = " from Pay select user, amount insert into Paid;"
FIRST = APP.format(attributes="user string, amount long") + RULE
NAMELESS = APP.format(attributes="amount long") + " from Pay select amount insert into Sums;"
THIRD = APP.format(attributes="user string, amount long, place string") + RULE
WHERE = f"user = '{BOB}'"


async def test_nothing_is_left_of_whom_somebody_wanted_erased(
    cluster_of: Start, tmp_path: Path
) -> None:
    """Three lives, of which one never knew names; a past and a back-test."""
    folder = tmp_path / "archive"
    async with cluster_of(*ALONE, **archived(tmp_path)) as cluster:
        people = [{"user": name, "amount": 5} for name in (BOB, ANN, BOB)]
        await lived(cluster, folder, FIRST, people, 1)
        await undeployed(cluster, "Shop")
        await lived(cluster, folder, NAMELESS, [{"amount": 7}], 2)
        await undeployed(cluster, "Shop")
        await lived(cluster, folder, THIRD, [{**one, "place": "x"} for one in people], 3)
        await deploy_from(cluster, THIRD.replace("Shop", "Again"), app="Shop")
        assert (await done(cluster, "Again"))["rows"] == 3
        wanted = Wanted(THIRD, compare=False)
        place = Place(str(folder))
        report = await asyncio.to_thread(
            backtest, wanted, place, load_settings({}), run_here, "1-run"
        )
        assert report.done.rows == 3
        held = {one.relative_to(folder).parts[0] for one in files_with(folder, BOB)}
        assert held == {"Shop", "_past", "_backtests"}

        before = sizes(folder)
        status, answer = await erased(cluster, "Shop", "Pay", f"nick = '{BOB}'")
        assert status == 400, answer
        status, answer = await erased(cluster, "Shop", "Pay", f"user = '{BOB}' and")
        assert status == 400, answer
        assert sizes(folder) == before, "a refused condition has changed something"

        status, answer = await erased(cluster, "Shop", "Pay", WHERE)
        assert (status, answer["rows"], answer["tables"]) == (200, 4, 2), answer
        assert len(answer["skipped"]) == 1
        status, answer = await erased(cluster, "Shop", "Paid", WHERE)
        # Two lives, the past and the back-test, two rows each.
        assert (status, answer["rows"], answer["skipped"]) == (200, 8, []), answer
        await nothing_of(cluster, folder, BOB, {"Pay: 4 rows erased", "Paid: 8 rows erased"})
        assert len(files_with(folder, ANN)) == 6

        await undeployed(cluster, "Shop")
        status, answer = await erased(cluster, "Shop", "Pay", f"user = '{ANN}'")
        assert (status, answer["rows"]) == (200, 2), answer
        status, answer = await erased(cluster, "Shop", "Paid", f"user = '{ANN}'")
        assert (status, answer["rows"]) == (200, 4), answer
        await nothing_of(cluster, folder, ANN, {"Pay: 2 rows erased", "Paid: 4 rows erased"})
        status, answer = await cluster.call(
            "POST", "coordinator", "/v1/apps/Never/archive/erase",
            json={"stream": "Pay", "where": WHERE},
        )  # fmt: skip
        assert status == 404, answer


async def test_what_earlier_lives_left_is_forgotten_when_it_is_over_age(
    cluster_of: Start, tmp_path: Path
) -> None:
    """Days of an earlier life, rows of a past and results of a back-test, all of 1970."""
    place = Place(str(tmp_path / "archive"))
    earlier = of_1970(place)
    past, run = (of_1970(Place(place.at(one))) for one in ("_past/Shop.1.1", "_backtests/1-run"))
    other = of_1970(place, "Elsewhere")
    settings = archived(tmp_path) | {"LOCKSTEP_ARCHIVE__UPKEEP_INTERVAL_MS": "100"}
    async with cluster_of(*ALONE, **settings) as cluster:
        await cluster.deploy(f"@app:archive(retention='1 day') {FIRST}")

        async def gone() -> bool:
            try:
                left = await asyncio.to_thread(
                    lambda: [one.sizes()[0] for one in (earlier, past, run)]
                )
            except UnavailableError:  # one of them is being removed just now
                return False
            return left == [0, 0, 0]

        await until(gone, "an archive without what is over age")
    assert other.sizes()[0] == 1


def of_1970(place: Place, app: str = "Shop") -> Table:
    """A table of what an app gave out then."""
    side = SideArchive(place, Logs(app, 1), OUTPUT)
    numbers = {key: [1] for key in ("_sequence", "_position", "_ordinal", "amount")}
    table = side.table("Paid", "l-1")
    table.append(pa.table({"day": ["1970-01-01"], **numbers}), side.transaction, 1)
    return table


async def lived(
    cluster: Cluster, folder: Path, text: str, rows: list[dict[str, Any]], life: int
) -> None:
    """An app has taken in some rows and given out as many, and all are archived."""
    app = await cluster.deploy(text)
    await cluster.send(app, "Pay", rows)

    async def there() -> bool:
        lives = await asyncio.to_thread(lives_of, Place(str(folder)), app)
        if len(lives) < life:
            return False
        _, answer = await cluster.call("GET", "coordinator", f"/v1/apps/{app}/archive")
        newest = [one for one in answer["tables"] if one["since_ms"] == lives[-1].since_ms]
        return [one["rows"] for one in newest if one["stream"]] == [len(rows)] * 2

    await until(there, f"the archive of life {life}")


async def undeployed(cluster: Cluster, app: str) -> None:
    """With all that is kept of it."""
    status, answer = await cluster.asked("DELETE", f"/v1/apps/{app}?purge=true")
    assert status == 200, answer


async def erased(cluster: Cluster, app: str, stream: str, where: str) -> tuple[int, Any]:
    """The answer, once there is one: the publisher that wrote may not have let go yet."""
    return await cluster.asked(
        "POST", f"/v1/apps/{app}/archive/erase", json={"stream": stream, "where": where}
    )


async def nothing_of(cluster: Cluster, folder: Path, name: str, noted: set[str]) -> None:
    """Neither in the bytes of any file, nor in what DuckDB reads, nor in the audit log."""
    assert files_with(folder, name) == []
    status, audit = await cluster.call("GET", "coordinator", "/v1/audit")
    assert status == 200, audit
    told = [one for one in audit["entries"] if one["path"].find("/archive/erase") > 0]
    assert all(one["app"] == "Shop" and one["who"] for one in told)
    notes = {one["path"].partition(" (")[2].rstrip(")") for one in told if one["status"] == 200}
    assert noted <= notes
    assert name not in repr(audit)


def files_with(folder: Path, name: str) -> list[Path]:
    """Files that have a name among their bytes or their rows."""
    found = []
    for one in sorted(each for each in folder.rglob("*") if each.is_file()):
        text = one.read_bytes()
        if one.suffix == ".parquet":
            rows = duckdb.execute("select * from read_parquet($1)", [str(one)]).fetchall()
            text += repr(rows).encode()
        if name.encode() in text:
            found.append(one)
    return found


def sizes(folder: Path) -> dict[str, int]:
    """Of all tables of the app's input: what an erasure would change."""
    found = (each for each in folder.rglob("input/Pay/**/*") if each.is_file())
    return {str(each): each.stat().st_size for each in found}
