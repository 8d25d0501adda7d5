"""What a child process needs in its environment to import what this process imports."""

from __future__ import annotations

import os
import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parent.parent)

SURROUNDINGS = {
    "PYTHONPATH": os.pathsep.join(dict.fromkeys([TESTS, *(each for each in sys.path if each)])),
    "PYTHONUNBUFFERED": "1",
}
