"""Valid apps that together use the whole language: what the fuzzer mutates."""

from __future__ import annotations

BASICS = """
@app:name('Basics') @app:description("a 'plain' app")
@async(buffer.size='256', workers='2', batch.size.max='10')
define stream Trades (symbol string, price double, qty int, ts long, big bool);
@source(type='inMemory', topic='in', @map(type='json', @attributes(a='$.a', b='$.b')))
@sink(type='log', prefix='{{a}}', @map(type='json', @payload(\"\"\"{"a": "{{a}}"}\"\"\")))
define stream Mapped (a string, `b` long);
-- a comment; with a semicolon
@info(name = 'filtered')
from Trades[price > 10.5 and not (symbol == 'IBM') or big]#log('x')[qty * 2 - -1 >= 3 % 2]
select symbol, price / 2.0f as half, ifThenElse(qty > 1L, 'many', "one") as word,
    convert(qty, 'long') + 1 sec as later
insert into Filtered; /* and
another */
from Trades#window.length(5)
select symbol, sum(price) as total, count() as n, avg(qty) as mean, minForever(price) as low
group by symbol having total > 1.0 and n < 100L
order by total desc, symbol limit 3 offset 1
output last every 3 events
insert all events into Totals;
from Trades#window.timeBatch(1 min 30 sec, 0) select * insert expired events into Old;
from Mapped[a is null or b in (b is null)] select a insert into Nulls
"""
BASICS = BASICS.replace("b in (b is null)", "b > 5")

TABLES = """
define stream S (k string, v int, price double);
@PrimaryKey('k') @Index('v')
define table T (k string, v int, price double);
define table Log (k string, v int);
@info(name='ins') from S insert into T;
from S select k, v insert into Log;
from S[(T.k == k and T.v > v) in T] select k delete T for current events on T.k == k;
from S update T set T.v = T.v + v, price = 1.5 on T.k == k and T.v < v;
from S select k, v, price update or insert into T on T.k == k;
from S as s left outer join T as t on s.k == t.k
select s.k as k, t.v as v, t.k is null as missing insert into Joined;
from S#window.time(5 sec) as a join S#window.length(2) as b unidirectional on a.k == b.k
select a.k as k, b.v as v output snapshot every 2 sec insert into Pairs;
"""

PATTERNS = """
define stream A (k string, v int);
define stream B (k string, v int);
@OnError(action='STREAM') define stream C (k string, v int);
from every e1=A[v > 1] -> e2=B[k == e1.k and v > e1.v] within 10 sec
select e1.k as k, e2.v as v insert into P1;
from e1=A<2:5> -> (e2=B and e3=C) -> not A[v < 0] for 1 min
select e1[0].v as first, e1[last].v as latest, e1[last-1].v as before, e2.k as k insert into P2;
from every (e1=A or e2=B) -> e3=C select e1.v as a, e2.v as b, e3.v as c insert into P3;
from every e1=A, e2=A[e2[last].v is null or v > e2[last].v]+, e3=B?, e4=C*
select e1.v as a, e2[0].v as b, e3[0].v as c insert into P4;
from not A for 5 sec and e2=B select e2.v as v insert into P5;
from e1=A -> not B and e3=C within 1 hour select e1.k as k, e3.v as v insert into P6;
from !C select k, convert(_error, 'string') as why insert into Failures;
"""

PARTITIONS = """
define stream Click (userId string, page string, t long);
define stream Buy (user string, amount float);
define window Recent (userId string, n long) sort(3, n, 'desc') output all events;
define trigger Tick at every 5 sec;
define trigger Nightly at '0 0 2 * * ?';
define trigger Once at 'start';
@purge(enable='true', interval='10 sec', idle.period='1 hour')
partition with (userId of Click, user of Buy)
begin
  from Click#window.externalTime(t, 1 min) select userId, count() as n insert into #clicks;
  from #clicks#window.length(1) as c join Buy#window.length(1) as b
  select c.userId as u, n, amount insert into Out;
  @info(name='into') from #clicks select userId, n insert into Recent;
end;
partition with (amount < 10.0f as 'small' or amount >= 10f as "large" of Buy)
begin from Buy select user, sum(amount) as total insert into Sums; end;
from Tick select triggered_time insert into Ticks;
from Recent[n > 2] select userId, n insert into Busy;
"""

AGGREGATIONS = """
define stream Trades (symbol string, price double, ts long);
define function twice[python] return double { return data[0] * 2  // }
};
@purge(enable='true', interval='1 min', @retentionPeriod(sec='120 sec', hours='all'))
define aggregation Stats
from Trades[price > 0.0]
select symbol, avg(price) as ap, sum(price) as total, count() as n, price * 2.0 as double
group by symbol aggregate by ts every sec ... year;
define aggregation Coarse from Trades select sum(price) as total aggregate every hours, days;
from Trades as t join Stats as s on t.symbol == s.symbol
within '2020-**-** **:**:**' per 'hours'
select s.AGG_TIMESTAMP as at, s.symbol as symbol, s.total as total, twice(t.price) as p
insert into Read;
from Trades#window.session(5 sec, symbol, 1 sec) select symbol, max(price) as top insert into M;
from Trades#window.cron('*/5 * * * * ?') select symbol insert into Cron;
from Trades#window.expression('count() <= 20 and last.price > first.price')
select symbol output first every 10 sec insert into E;
"""

SAMPLES = (BASICS, TABLES, PATTERNS, PARTITIONS, AGGREGATIONS)

ON_DEMAND = (
    "from T on v > 5 select k, sum(v) as total group by k having total > 3 order by k limit 5",
    "select 'a' as k, 5 as v, 1.5 as price insert into T",
    "select 'a' as k, 5 as v, 1.5 as price update or insert into T set T.v = 6 on T.k == k",
    "update T set T.v = 7 on T.k == 'a'",
    "delete T on T.k == 'a'",
)
