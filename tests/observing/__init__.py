"""What operators look at, on real servers: run by `make observe`."""
