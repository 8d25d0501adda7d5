"""``axd demo``: the same agent bare and under AX, side by side."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Annotated

from cyclopts import Parameter

WHERE = "ax_adapters.demo"


def demo(*tokens: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]) -> int:
    """Run the same agent bare and under AX, side by side, through everything that goes wrong (axd demo --help)."""
    if importlib.util.find_spec("ax_adapters") is None or importlib.util.find_spec(WHERE) is None:
        sys.stderr.write("axd: the demo is not installed here: pip install 'ax-adapters[demo]'\n")
        return 2
    code: int = importlib.import_module(WHERE).main(list(tokens))
    return code
