"""PostgreSQL: a table's rows, and what changes them, by logical decoding."""
