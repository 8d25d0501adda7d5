"""The order service seen from outside: what a user would have written with urllib."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote, urlencode

from langchain_core.tools import ToolException

Row = dict[str, Any]


class Refused(ToolException):
    """The service answered no: nothing was changed."""


class NoAnswer(ToolException):
    """The service never answered: nobody here knows whether it acted."""


class OrderService:
    """Talks to the order service; a refusal and a lost answer are different errors."""

    def __init__(self, url: str, *, timeout: float = 5.0) -> None:
        self._url, self._timeout = url.rstrip("/"), timeout

    def get(self, path: str, **query: object) -> Row:
        """Read something."""
        return self._ask(urllib.request.Request(f"{self._url}{quote(path)}?{urlencode(query)}"))

    def post(self, path: str, body: Row, *, key: str | None = None) -> Row:
        """Do something; the service honours an Idempotency-Key where it says so."""
        headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
        return self._ask(
            urllib.request.Request(f"{self._url}{quote(path)}", json.dumps(body).encode(), headers)
        )

    def _ask(self, request: urllib.request.Request) -> Row:
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:
                found: Row = json.load(answer)
                return found
        except urllib.error.HTTPError as no:
            raise Refused(f"refused: {json.load(no).get('error', no.reason)}") from no
        except (OSError, http.client.HTTPException) as lost:
            raise NoAnswer(
                f"no answer from the order service ({type(lost).__name__}); please try again"
            ) from lost
