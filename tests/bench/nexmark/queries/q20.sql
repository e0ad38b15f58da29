select b.auction, b.bidder, b.price, a.itemName, a.seller, a.category, a.expires
from bid b join auction a on a.id = b.auction where a.category = 10
