"""From text to syntax tree: lexer, grammar, builders and the sentences for refusals."""

from lockstep.siddhiql.syntax.parser import parse, parse_on_demand

__all__ = ["parse", "parse_on_demand"]
