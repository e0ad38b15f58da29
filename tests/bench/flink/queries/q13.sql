SELECT b.auction, b.bidder, b.price, a.itemName
FROM Bid b JOIN Auction FOR SYSTEM_TIME AS OF b.rowtime AS a ON a.id = MOD(b.auction, 500) + 1000
WHERE a.id < 1600
