select bidder, count(*) from (
  select *, (dateTime - (select min(dateTime) from bid)) // 10000 as slot from bid
) where slot < ((select max(dateTime) from bid) - (select min(dateTime) from bid)) // 10000 group by bidder, slot
