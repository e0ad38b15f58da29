-- without Gone
select auction, price from (
  select auction, price, row_number() over (partition by auction order by price desc) as place from bid
) where place <= 10
