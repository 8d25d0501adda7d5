"""Fetching a suite, and running it bare and wrapped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .suites import Suite

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120
"""For one test; a wrapper that parks a call must not hang the comparison."""


@dataclass(frozen=True)
class Outcome:
    """How the tests of a suite ended, and how many tools were wrapped."""

    ends: dict[str, str]
    wrapped: int
    output: str

    @property
    def passed(self) -> set[str]:
        """The tests that passed."""
        return {name for name, end in self.ends.items() if end == "passed"}


def sources(suite: Suite, where: Path) -> Path | None:
    """The unpacked source distribution of the installed version; None: a package is not installed."""
    try:
        wanted = version(suite.package)
        version(suite.needs or suite.package)
    except PackageNotFoundError:
        return None
    folder = where / f"{suite.package.replace('-', '_')}-{wanted}"
    if not folder.exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        asked = ["--no-deps", "--no-binary", ":all:", "--dest", str(where), f"{suite.package}=={wanted}"]
        subprocess.run([*pip, *asked], check=True)
        packed = next(where.glob(f"{suite.package.replace('-', '[-_]')}-{wanted}.tar.gz"))
        with tarfile.open(packed) as archive:
            top = archive.getnames()[0].split("/")[0]
            archive.extractall(where, filter="data")
        if where / top != folder:
            (where / top).rename(folder)
    return folder


def run(suite: Suite, folder: Path, way: str, processes: int) -> Outcome:
    """One run of a suite: ``bare``, ``plain`` or ``timeout``."""
    told = folder / f"outcomes-{way}.json"
    told.unlink(missing_ok=True)
    paths = [path for path in suite.paths if (folder / path).exists()]
    command = [sys.executable, "-m", "pytest", "-p", "tools.frameworks.plugin", "-p", "no:cacheprovider"]
    command += ["-o", "addopts=", "-q", "--tb=short", "--timeout", str(SECONDS)]
    command += ["-n", str(processes)] if processes > 1 else []
    more = {"AX_WRAP": way, "AX_OUTCOMES": str(told), "AX_FRAMEWORK": suite.framework}
    more["PYTHONPATH"] = os.pathsep.join(_path())
    done = subprocess.run(
        [*command, *paths], cwd=folder, env={**os.environ, **more}, capture_output=True, text=True
    )
    if not told.exists():
        raise RuntimeError(
            f"{suite.package} {way} did not run:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
    kept = json.loads(told.read_text())
    return Outcome(kept["ends"], kept["wrapped"], done.stdout)


def _path() -> list[str]:
    return [str(ROOT), str(ROOT / "core"), *filter(None, [os.environ.get("PYTHONPATH")])]
