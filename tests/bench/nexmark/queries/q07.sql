select auction, price, bidder, dateTime from (
  select *, row_number() over (partition by slot order by price desc, auction, bidder, dateTime) as place from (
    select *, (dateTime - (select min(dateTime) from bid)) // 10000 as slot from bid
  )
) where place = 1 and slot < ((select max(dateTime) from bid) - (select min(dateTime) from bid)) // 10000
