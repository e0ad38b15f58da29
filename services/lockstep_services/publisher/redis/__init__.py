"""Tables in Redis: rows and cursor in one step."""
