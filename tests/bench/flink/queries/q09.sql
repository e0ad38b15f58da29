SELECT auction, itemName, bidder, price FROM (
  SELECT b.auction, a.itemName, b.bidder, b.price,
    ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.`dateTime`) AS place
  FROM Auction a JOIN Bid b ON a.id = b.auction WHERE b.`dateTime` BETWEEN a.`dateTime` AND a.expires
) WHERE place = 1
