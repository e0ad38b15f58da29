SELECT bidder, auction, price, `dateTime` FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY rowtime DESC) AS place FROM Bid
) WHERE place = 1
