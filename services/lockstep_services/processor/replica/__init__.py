"""One replica: what its loops share, and the pure decisions about where it stands."""
