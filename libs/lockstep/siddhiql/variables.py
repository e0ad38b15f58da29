"""`${name}` in app texts, replaced before parsing (grammar 16).

`${secret:name}` stays: who opens a connector fills it in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lockstep.secrets.references import BEGINNING
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.suggestions import did_you_mean

_VARIABLE = re.compile(r"\$\{([^{}\n]*)\}")


def update_variables(text: str, mapping: Mapping[str, str]) -> str:
    """The text with every `${name}` replaced by its value; an unknown name is a SiddhiQLError."""

    def value(found: re.Match[str]) -> str:
        name = found.group(1).strip()
        if name in mapping:
            return str(mapping[name])
        if found.group().startswith(BEGINNING):
            return found.group()
        before = text[: found.start()]
        raise SiddhiQLError(
            f"no value is given for ${{{name}}}",
            line=before.count("\n") + 1,
            column=found.start() - before.rfind("\n"),
            hint=did_you_mean(name, mapping),
        )

    return _VARIABLE.sub(value, text)
