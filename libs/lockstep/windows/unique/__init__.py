"""The windows of the unique pack (extensions 9)."""
