-- last by category
select category, avg(best) from (
  select a.category, max(b.price)::double as best from auction a join bid b on a.id = b.auction
  where b.dateTime between a.dateTime and a.expires group by a.id, a.category
) group by category
