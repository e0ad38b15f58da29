SELECT category, AVG(CAST(best AS DOUBLE)) AS average FROM (
  SELECT a.category, MAX(b.price) AS best FROM Auction a JOIN Bid b ON a.id = b.auction
  WHERE b.`dateTime` BETWEEN a.`dateTime` AND a.expires GROUP BY a.id, a.category
) GROUP BY category
