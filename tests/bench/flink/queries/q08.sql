SELECT p.id, p.name, p.slot FROM (
  SELECT id, name, MIN(`dateTime` / 10000) AS slot, window_start, window_end
  FROM TABLE(TUMBLE(TABLE Person, DESCRIPTOR(rowtime), INTERVAL '10' SECOND))
  GROUP BY id, name, window_start, window_end
) p JOIN (
  SELECT seller, window_start, window_end
  FROM TABLE(TUMBLE(TABLE Auction, DESCRIPTOR(rowtime), INTERVAL '10' SECOND))
  GROUP BY seller, window_start, window_end
) a ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end
