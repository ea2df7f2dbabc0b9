"""Provide the published schema of bills of materials, out of CycloneDX's own Python library."""

import hashlib
import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Final

from tests.tools.debian import run
from tests.tools.provide import CannotProvideError, cache_folder

_PACKAGE: Final = "cyclonedx-python-lib==11.12.0"
_SHA256: Final = "0e807521a921a5c3cb8ce1153f8a61d29eedfe76a46aac2796b7c6b573391a54"
_FOLDER: Final = "cyclonedx/schema/_res"
_FILES: Final = (
    "bom-1.6.SNAPSHOT.schema.json",
    "spdx.SNAPSHOT.schema.json",
    "jsf-0.82.SNAPSHOT.schema.json",
)


def bom_schemas() -> list[dict[str, Any]]:
    """Return the schema of CycloneDX 1.6, then those to which it refers.

    Raises:
        CannotProvideError: the package cannot be had, or is another one.
    """
    with zipfile.ZipFile(_wheel()) as archive:
        return [json.loads(archive.read(f"{_FOLDER}/{name}")) for name in _FILES]


def is_cached() -> bool:
    """Return whether the package was downloaded."""
    return _kept().exists()


def _kept() -> Path:
    return cache_folder() / f"{_PACKAGE}.whl"


def _wheel() -> Path:
    kept = _kept()
    folder = kept.parent
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            flags = ["--quiet", "--no-deps", "--disable-pip-version-check", "--dest", work]
            run([sys.executable, "-m", "pip", "download", *flags, _PACKAGE])
            (file,) = Path(work).glob("*.whl")
            file.rename(kept)
    found = hashlib.sha256(kept.read_bytes()).hexdigest()
    if found != _SHA256:
        raise CannotProvideError(f"{kept}: its SHA-256 is {found}, not {_SHA256}: remove it")
    return kept
