-- last by auction, day
select auction, dateTime // 86400000, count(*), count(*) filter (price < 10000),
  count(*) filter (price >= 10000 and price < 1000000), count(*) filter (price >= 1000000),
  min(price), max(price), avg(price), sum(price)::bigint from bid group by 1, 2
