SELECT auction, bidder, 0.908e0 * price AS price,
  CASE WHEN MOD(`dateTime` / 3600000, 24) BETWEEN 8 AND 18 THEN 'dayTime'
       WHEN MOD(`dateTime` / 3600000, 24) <= 6 OR MOD(`dateTime` / 3600000, 24) >= 20 THEN 'nightTime'
       ELSE 'otherTime' END AS kind,
  CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS cs
FROM Bid WHERE 0.908e0 * price > 1000000 AND 0.908e0 * price < 50000000
