SELECT auction, bidder, 0.908e0 * price AS price, `dateTime`, extra FROM Bid
