"""The app under chaos: a filter, a sliding and a tumbling window, a pattern and a stored table."""

from __future__ import annotations

APP = "Chaos"
STREAM = "Trade"
TABLE = "chaos_latest"
TABLE_COLUMNS = ("symbol", "seq", "trades", "volume")
TABLE_QUERY = "from Latest select symbol, seq, trades, volume"
SYMBOLS = 20

TEXT = f"""\
@app:name('{APP}')
define stream {STREAM} (seq long, symbol string, price double, volume long);

@store(type='rdbms', table.name='{TABLE}')
@PrimaryKey('symbol')
define table Latest (symbol string, seq long, trades long, volume long);

-- Each row bears the number of the event it comes from.
@info(name='marked')
from Trade[seq % 10L == 2L]
select seq, symbol, price
insert into Marked;

@info(name='sample')
from Trade[seq % 10L == 0L]
select seq, symbol, price
insert into Sample;

@info(name='sliding')
from Sample#window.time(1 sec)
select symbol, avg(price) as mean, count() as samples
group by symbol
insert into Sliding;

@info(name='tumbling')
from Trade#window.timeBatch(500 milliseconds)
select symbol, sum(volume) as volume, count() as trades
group by symbol
insert into Tumbling;

@info(name='surge')
from every a=Sample[price > 95.0] -> b=Sample[price < 5.0 and symbol == a.symbol] within 1 sec
select a.seq as first, b.seq as second, a.symbol as symbol
insert into Surge;

@info(name='latest')
from Trade[seq % 20L == 1L]
select symbol, seq, count() as trades, sum(volume) as volume
group by symbol
update or insert into Latest on Latest.symbol == symbol;
"""

NEXT = (
    TEXT.replace("a=Sample[price > 95.0]", "a=Sample[price > 90.0]")
    + """
@info(name='spread')
from Sample#window.time(2 sec)
select symbol, max(price) - min(price) as spread
group by symbol
insert into Spread;
"""
)
"""What an upgrade goes over to: a condition changed, a window beside the others. All that TEXT has
goes on with its state."""


def text_of(generation: int) -> str:
    """The text that a generation of the deployment has: upgrades go there and back."""
    return TEXT if generation % 2 else NEXT
