-- table Latest
select bidder, auction, last(price order by n), last(dateTime order by n) from bid group by 1, 2
