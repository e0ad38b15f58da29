"""NEXMark: an auction house, the streaming benchmark that other engines are measured with."""
