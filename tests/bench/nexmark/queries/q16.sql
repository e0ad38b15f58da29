-- last by channel, day
select channel, dateTime // 86400000, count(*), count(*) filter (price < 10000),
  count(*) filter (price >= 10000 and price < 1000000), count(*) filter (price >= 1000000),
  count(distinct bidder), count(distinct auction) from bid group by 1, 2
