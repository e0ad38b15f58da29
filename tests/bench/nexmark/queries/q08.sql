select distinct p.id, p.name, p.dateTime // 10000 from person p join auction a
on p.id = a.seller and p.dateTime // 10000 = a.dateTime // 10000
