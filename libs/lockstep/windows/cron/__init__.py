"""cron('expression') (semantics 7.13)."""
