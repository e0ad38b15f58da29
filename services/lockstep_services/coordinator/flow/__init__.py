"""What an app lets through, as a graph with rates, lag and latency on its edges."""
