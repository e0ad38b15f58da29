"""The database sink for MySQL and MariaDB: rows and cursor in one transaction."""
