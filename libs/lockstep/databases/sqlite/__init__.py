"""SQLite: a database that is a file of this machine."""
