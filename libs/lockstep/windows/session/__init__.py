"""session(gap [, key [, allowed.latency]]) (semantics 7.9)."""
