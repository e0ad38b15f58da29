"""Bytewax beside the engine, on some of NEXMark's queries."""
