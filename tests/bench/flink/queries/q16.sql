SELECT channel, `dateTime` / 86400000 AS `day`, COUNT(*) AS bids, COUNT(*) FILTER (WHERE price < 10000) AS low,
  COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle,
  COUNT(*) FILTER (WHERE price >= 1000000) AS high,
  COUNT(DISTINCT bidder) AS bidders, COUNT(DISTINCT auction) AS auctions
FROM Bid GROUP BY channel, `dateTime` / 86400000
