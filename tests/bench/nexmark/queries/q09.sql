-- last by auction
select auction, itemName, bidder, price from (
  select b.auction, a.itemName, b.bidder, b.price,
    row_number() over (partition by a.id order by b.price desc, b.n) as place
  from auction a join bid b on a.id = b.auction where b.dateTime between a.dateTime and a.expires
) where place = 1
