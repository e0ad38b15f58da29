"""The database sink for SQLite: rows and cursor in one transaction."""
