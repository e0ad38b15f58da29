"""What each type of source, sink and store declares (extensions 12 and 14); services carry it."""
