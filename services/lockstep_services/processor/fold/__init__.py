"""The input log folded, slice by slice."""
