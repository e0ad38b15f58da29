"""The databases of tables whose stores refer to secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lockstep.databases import read_datasources
from lockstep.events import Fault, UnavailableError
from lockstep.secrets import Vault
from lockstep.siddhiql import ast, check
from lockstep_services.receiver.filled import FilledStores

TEXT = (
    "define stream In (v int);"
    " @store(type='rdbms', mode='lookup', jdbc.url='jdbc:postgresql://db/shop', username='u',"
    " password='${secret:pw}', table.name='t') @PrimaryKey('v') define table T (v int, w int);"
    " from In join T on In.v == T.v select In.v as v, T.w as w insert into Out;"
)


class Log:
    """What was told."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def warning(self, _: str, **fields: Any) -> None:
        """Kept."""
        self.told.append(fields)


def store() -> ast.Annotation:
    """Of the table."""
    ((lookup,),) = (one.tables for one in check(TEXT).asked)
    found: ast.Annotation = lookup.store
    return found


def test_a_table_whose_secret_is_missing_waits(tmp_path: Path) -> None:
    """Nobody who sent an event is at fault: it waits as for a database that is away. The log alone
    tells where the secret belongs, once until it comes and goes again, or the app does."""
    log: Any = Log()
    stores = FilledStores(Vault(str(tmp_path)), read_datasources(""), "", log)

    def told_when_missing() -> int:
        for _ in range(3):
            with pytest.raises(
                UnavailableError, match=r"table 't' needs secret 'pw'.*log"
            ) as caught:
                stores.datasource("Shop", store(), "t")
            assert caught.value.fault is Fault.EXTERNAL
            assert str(tmp_path) not in str(caught.value)
        return len(log.told)

    assert told_when_missing() == 1
    (told,) = log.told
    assert (told["app"], told["table"]) == ("Shop", "t")
    assert str(tmp_path / "pw") in told["error"]
    (tmp_path / "pw").write_text("s3cr3t")
    assert "s3cr3t" in stores.datasource("Shop", store(), "t").dsn
    (tmp_path / "pw").unlink()
    assert told_when_missing() == 2
    stores.keep(["Shop"])
    assert told_when_missing() == 2
    stores.keep([])
    assert told_when_missing() == 3
