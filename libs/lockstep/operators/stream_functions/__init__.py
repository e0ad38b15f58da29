"""The stream functions and stream processors of the language, by (namespace, name)."""
