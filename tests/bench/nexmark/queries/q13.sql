select b.auction, b.bidder, b.price, a.itemName from bid b join auction a
on a.id < 1600 and a.id - 1000 = b.auction % 500 and a.dateTime <= b.dateTime
