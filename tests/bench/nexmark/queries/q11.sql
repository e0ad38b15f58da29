-- most by bidder
select bidder::varchar, max(bids) from (
  select bidder, session, count(*) as bids from (
    select bidder, sum(begins) over (partition by bidder order by n) as session from (
      select bidder, n, case when dateTime - lag(dateTime) over (partition by bidder order by n) >= 10000 then 1 else 0 end as begins
      from bid
    )
  ) group by bidder, session
) group by bidder
