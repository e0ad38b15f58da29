"""OAuth 2.0 of HTTP clients: the option that asks for it.

`token.py` beside it fetches tokens. It loads an HTTP client, which a check of an app does without.
"""

from __future__ import annotations

from typing import Final

TOKEN_URL: Final = "token.url"
