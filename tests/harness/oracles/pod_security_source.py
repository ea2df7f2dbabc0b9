"""What the source of Kubernetes' Pod Security checks says about itself."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.tools.provide import HERE, CannotProvideError

_MODULE: Final = "k8s.io/pod-security-admission"
_FIELD: Final = re.compile(r"^[\s*]*(metadata\.annotations\[[^\]]+\]|spec\.\S+)")
_RESTRICTED_FIELDS: Final = re.compile(r"^\W*Restricted Fields:")
_ALLOWED_VALUES: Final = re.compile(r"^\W*Allowed Values:")
_REASON: Final = re.compile(r'ForbiddenReason:\s+(?:pluralize\()?"([^"]+)"')


def check_files() -> list[Path]:
    """Return the check_*.go files of the version that kube-apiserver is built with.

    Raises:
        CannotProvideError: there is no Go, or the module cannot be had.
    """
    go = shutil.which("go")
    if go is None:
        raise CannotProvideError(f"{_MODULE} cannot be read without Go: install Go 1.26 or newer")
    try:
        output = subprocess.run(
            [go, "mod", "download", "-json", _MODULE],
            cwd=HERE / "kube-apiserver",
            capture_output=True,
            check=True,
        ).stdout
    except subprocess.CalledProcessError as error:
        raise CannotProvideError(f"{_MODULE}: {error.stderr.decode()}") from error
    folder = Path(json.loads(output)["Dir"]) / "policy"
    return [file for file in sorted(folder.glob("check_*.go")) if not file.stem.endswith("_test")]


def restricted_fields(source: str) -> set[str]:
    """Return the fields under each 'Restricted Fields' of a check's leading comment."""
    fields: set[str] = set()
    listing = False
    for line in source.splitlines():
        if _RESTRICTED_FIELDS.match(line):
            listing = True
        elif _ALLOWED_VALUES.match(line):
            listing = False
        elif listing and (match := _FIELD.match(line)):
            fields.add(match[1])
    return fields


def forbidden_reasons(source: str) -> set[str]:
    """Return the reasons with which a check refuses."""
    return set(_REASON.findall(source))
