"""What the checker knows of stream functions that share a model with functions of other queries."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.contract import Extension


@dataclass(frozen=True)
class ModelExtension(Extension):
    """Its first argument is a constant that names the model. `of`: what is modelled, for people;
    functions of one `of` share models. `teaches`: it changes the model, and one of its attributes
    is what the model shall tell of the others. Its arguments are constants, then attributes.
    """

    of: str = ""
    teaches: bool = False


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A call that teaches or asks a model."""

    name: str
    call: ast.FunctionCall
    declared: ModelExtension

    @property
    def features(self) -> int:
        """From how many attributes the model tells something."""
        given = sum(isinstance(one, ast.Variable) for one in self.call.arguments)
        return given - self.declared.teaches

    @property
    def settings(self) -> tuple[object, ...]:
        """The constants of the call."""
        return tuple(one.value for one in self.call.arguments[1:] if isinstance(one, ast.Constant))
