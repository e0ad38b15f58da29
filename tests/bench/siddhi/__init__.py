"""The engine beside Siddhi, the Java engine whose language it speaks."""
