"""What columns of all concepts share: arrays, chunks, order, keys, compiled loops."""
