"""output [all | first | last] every t (semantics 14.2)."""
