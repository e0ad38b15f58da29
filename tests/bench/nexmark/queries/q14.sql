select auction, bidder, 0.908::double * price,
  case when (dateTime // 3600000) % 24 between 8 and 18 then 'dayTime'
       when (dateTime // 3600000) % 24 <= 6 or (dateTime // 3600000) % 24 >= 20 then 'nightTime' else 'otherTime' end,
  length(extra) - length(replace(extra, 'c', ''))
from bid where 0.908::double * price > 1000000 and 0.908::double * price < 50000000
