SELECT b.auction, b.bidder, b.price, a.itemName, a.seller, a.category, a.expires
FROM Bid b JOIN Auction a ON a.id = b.auction WHERE a.category = 10
