"""MongoDB: tables whose rows are documents of a collection."""
