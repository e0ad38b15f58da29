select auction, bids from (
  select *, row_number() over (partition by stop order by bids desc, auction) as place from (
    select stop, auction, count(*) as bids
    from bid, (select unnest(range((select min(dateTime) from bid) + 2000, (select max(dateTime) from bid) + 1, 2000)) as stop)
    where dateTime >= stop - 10000 and dateTime < stop group by stop, auction
  )
) where place = 1
