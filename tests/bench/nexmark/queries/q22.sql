select auction, bidder, price, channel, split_part(url, '/', 4), split_part(url, '/', 5) from bid
