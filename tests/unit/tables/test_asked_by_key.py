"""What on-demand queries are given of a table in columns: by its key a row, and the answers are the
reference's."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.execute.columnar import ColumnarExecutor
from lockstep.plan.plans import plan_of
from lockstep.siddhiql import check_on_demand
from lockstep.tables.columns import TableUnit
from lockstep.tables.lookup import stored_for
from lockstep.testing import VirtualApp

APP = """
define stream Put (region string, id long, name string, price double);
define stream Other (id long);
@PrimaryKey('region', 'id') @Index('name')
define table Goods (region string, id long, name string, price double);
@PrimaryKey('id') define table Known (id long);
from Put select * update or insert into Goods
    on Goods.region == region and Goods.id == id;
from Other select id insert into Known;
"""
BY_KEY = "from Goods on region == 'n' and id == 7L"
QUESTIONS = {
    f"{BY_KEY} select name, price": 1,
    f"{BY_KEY} and price > 2.0 select name": 1,
    "from Goods on id == 7L and 'n' == region and name == 'x' select name": 1,
    "from Goods on region == 'n' and id == 99L select name": 0,
    "from Goods on region == 'none' and id == 7L select count() as n": 0,
    f"{BY_KEY} select region, count() as n group by region having n > 0L": 1,
    "from Goods on region == 'n' and id == 7 select name": 40,
    "from Goods on region == 'n' and (id == 7L or id == 8L) select name": 40,
    "from Goods on name == 'name 3' select id, region": 40,
    "from Goods on region == 'n' select id order by id desc limit 3": 40,
    "from Goods select sum(price) as total": 40,
    f"{BY_KEY} and ((Known.id == id) in Known) select name": 40,
    f"{BY_KEY} and ((Goods.region == 's') in Goods) select name": 40,
}


def filled(executor: str) -> VirtualApp:
    """With forty goods, one of them changed, and two known."""
    app = VirtualApp(APP, executor=executor)
    goods = [[region, n, f"name {n}", n / 2] for region in "ns" for n in range(20)]
    app.send_many("Put", goods)
    app.send("Put", ["n", 7, "seven", 9.5])
    app.send_many("Other", [[7], [3]])
    return app


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_those_of_the_reference(question: str) -> None:
    """Also where a condition says more than the key, and where it looks at tables itself."""
    with filled("reference") as reference, filled("columnar") as columnar:
        assert columnar.on_demand(question) == reference.on_demand(question)


def test_a_question_by_the_key_is_given_a_row() -> None:
    """Whatever else is there; any other question gets the table."""
    plan = plan_of(APP)
    with filled("columnar") as app:
        executor = ColumnarExecutor(plan)
        executor.restore(app.snapshot())
    units = executor.lowering.units
    [goods] = [one for one in units if isinstance(one, TableUnit) and one.table == "Goods"]
    for question, wanted in QUESTIONS.items():
        _, rows = stored_for(check_on_demand(question, plan.checked), goods.state)
        known: Any = 1 if question.startswith(BY_KEY) and " in " in question else wanted
        assert len(rows) == known, question
