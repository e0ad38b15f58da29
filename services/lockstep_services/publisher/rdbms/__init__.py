"""The database sink: rows and cursor in one transaction."""
