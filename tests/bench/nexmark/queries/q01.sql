select auction, bidder, 0.908::double * price, dateTime, extra from bid
