"""MySQL and MariaDB: connections, questions, copies and changes by the binary log."""
