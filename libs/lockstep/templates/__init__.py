"""Templates: app texts with parameters, whose instances people start who may not write apps.

Pure: a text is read, values are put into it, and out comes an app. See TEMPLATES.md.
"""

from lockstep.templates.errors import TemplateError
from lockstep.templates.filling import check_template, filled
from lockstep.templates.header import Parameter, Template, template_of
from lockstep.templates.values import Kind, Value

__all__ = [
    "Kind",
    "Parameter",
    "Template",
    "TemplateError",
    "Value",
    "check_template",
    "filled",
    "template_of",
]
