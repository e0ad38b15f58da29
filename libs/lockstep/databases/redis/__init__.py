"""Redis: tables whose rows are hashes, each at a key of its own."""
