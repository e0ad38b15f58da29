"""The leadership protocol carried out: leases, claims, terms."""
