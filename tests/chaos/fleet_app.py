"""The fleet under chaos: a group cut by one key, one behind it by another, and a whole one."""

from __future__ import annotations

from functools import cache

from lockstep.plan import plan_of
from lockstep.plan.fleet import FleetPlan, fleet_of

FLEET = "ChaosFleet"
STREAM = "Order"
TABLE = "chaos_fleet_latest"
TABLE_COLUMNS = ("symbol", "seq", "orders", "total")
TABLE_QUERY = "from Latest select symbol, seq, orders, total"
PARALLEL = 3
"""What it is deployed with first; rescalings draw from PARALLELS."""

PARALLELS = (1, 2, 3, 4)
INNER = "Sums"
"""Goes from group to group, and is not given out."""

KEYS = {"Sums": 0, "Sliding": 0, "Surge": 0, "Buckets": 0}
"""Of the streams that are cut: which attribute has the key."""

TEXT = f"""\
@app:name('{FLEET}')
define stream {STREAM} (seq long, symbol string, price double, volume long);
define stream Sums (symbol string, seq long, bucket long, total long);

@store(type='rdbms', table.name='{TABLE}')
@PrimaryKey('symbol')
define table Latest (symbol string, seq long, orders long, total long);

-- Cut by symbol; what it sums up goes to the other groups.
partition with (symbol of Order)
begin
  @info(name='sums')
  from Order select symbol, seq, seq % 16L as bucket, sum(volume) as total insert into Sums;

  @info(name='sliding')
  from Order[seq % 5L == 0L]#window.time(1 sec)
  select symbol, seq, avg(price) as mean, count() as samples insert into Sliding;

  @info(name='surge')
  from every a=Order[price > 90.0] -> b=Order[price < 10.0] within 1 sec
  select a.symbol as symbol, a.seq as first, b.seq as second insert into Surge;
end;

-- Cut by bucket.
partition with (bucket of Sums)
begin
  @info(name='buckets')
  from Sums#window.length(3)
  select bucket, seq, count() as held, sum(total) as sums insert into Buckets;
end;

-- Whole: the order of all keys matters, and so does the table.
@info(name='whole')
from Sums[seq % 4L == 1L]#window.length(50)
select seq, symbol, sum(total) as sums
insert into Whole;

@info(name='latest')
from Sums[seq % 10L == 1L]
select symbol, seq, count() as orders, sum(total) as total
group by symbol
update or insert into Latest on Latest.symbol == symbol;
"""

CHANNELED = TEXT.replace("define stream Sums", "@channel define stream Sums")
"""The same as one unit, which puts out what goes from group to group, too."""


@cache
def cut(parallel: int) -> FleetPlan:
    """Its groups."""
    return fleet_of(plan_of(TEXT), parallel)
