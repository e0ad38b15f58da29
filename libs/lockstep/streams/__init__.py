"""Queries on one stream: filters, stream functions, a window, the selector behind them."""
