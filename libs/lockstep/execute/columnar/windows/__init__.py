"""Windows on columns: they turn a stream's chunks into flows of events that enter and leave."""
