"""output [all | first | last] every n events (semantics 14.1)."""
