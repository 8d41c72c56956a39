"""Files that a package brings along, found without importing it."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from prism_graph.errors import InvalidSettings


def packaged(package: str, *parts: str, sha256: str) -> Path:
    """Return the path of a package's file. Raises InvalidSettings unless it is the one expected.

    Another file would make other vectors under the same model's name.
    """
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder).joinpath(*parts)
        if path.is_file() and _digest(path) == sha256:
            return path
    raise InvalidSettings(
        f"The package {package} does not bring the {parts[-1]} that is expected: install the version "
        "that the extra of django-prism-graph names."
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
