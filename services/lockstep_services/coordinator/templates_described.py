"""The routes of templates, for the coordinator's OpenAPI document."""

from __future__ import annotations

from typing import Final, NotRequired, TypedDict

from lockstep.frame.openapi import Described

Value = str | int | float | bool


class ParameterOf(TypedDict):
    """What an instance has to give. `type`: SiddhiQL's, or `time`. `low` and `high`: both
    included."""

    name: str
    type: str
    about: str
    default: Value | None
    choices: list[Value]
    low: float | None
    high: float | None


class InstanceOf(TypedDict):
    """An app that was made of a template, with its values."""

    app: str
    values: dict[str, Value]
    updated_ms: int


class TemplateLine(TypedDict):
    """A template; those of its instances that the caller may view."""

    template: str
    about: str
    parameters: list[ParameterOf]
    instances: list[InstanceOf]
    text: NotRequired[str]


class TemplateList(TypedDict):
    """All of them."""

    templates: list[TemplateLine]


class TemplateText(TypedDict):
    """A template says its name itself: `-- template: Room too hot`."""

    text: str


class TemplateName(TypedDict):
    """Which one it was."""

    template: str


class GivenValues(TypedDict):
    """By the names of parameters; those with a default need not be given."""

    values: NotRequired[dict[str, Value]]


class StartedInstance(TypedDict):
    """`changed`: it was not there as it is."""

    template: str
    app: str
    values: dict[str, Value]
    changed: bool


class StoppedInstance(TypedDict):
    """Its state stays, as with any app that is undeployed."""

    template: str
    app: str


_ONE: Final = "/v1/templates/{template}"
_INSTANCE: Final = f"{_ONE}/instances/{{app}}"
TEMPLATES: Final = (
    Described("GET", "/v1/templates", "Texts with parameters, and who runs them.", TemplateList),
    Described("GET", _ONE, "One with its text.", TemplateLine),
    Described("PUT", _ONE, "Keeps one.", TemplateName, TemplateText, others=(201,)),
    Described("DELETE", _ONE, "Forgets it.", TemplateName),
    Described(
        "PUT", _INSTANCE, "Starts or changes one.", StartedInstance, GivenValues, others=(201,)
    ),
    Described("DELETE", _INSTANCE, "Stops it.", StoppedInstance),
)
