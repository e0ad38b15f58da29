SELECT auction, price FROM Bid WHERE MOD(auction, 123) = 0
