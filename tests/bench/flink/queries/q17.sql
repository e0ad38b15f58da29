SELECT auction, `dateTime` / 86400000 AS `day`, COUNT(*) AS bids, COUNT(*) FILTER (WHERE price < 10000) AS low,
  COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle,
  COUNT(*) FILTER (WHERE price >= 1000000) AS high, MIN(price) AS least, MAX(price) AS most,
  AVG(CAST(price AS DOUBLE)) AS mean, SUM(price) AS total
FROM Bid GROUP BY auction, `dateTime` / 86400000
