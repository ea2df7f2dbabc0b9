"""What others publish as Go modules, each pinned by version and sum in tests/tools/<name>."""

import json
import shutil
import subprocess
from pathlib import Path

from tests.harness.programs.availability import skip_or_fail
from tests.tools.provide import HERE, CannotProvideError


def module_folder(name: str, module: str, what: str) -> Path:
    """Return the folder of the module that tests/tools/<name> requires; without it `skip_or_fail`.

    `what` says for the message what is wanted of it.
    """
    go = shutil.which("go")
    if go is None:
        skip_or_fail(CannotProvideError(f"{what} are in a Go module: install Go 1.26"))
    done = subprocess.run(
        [go, "mod", "download", "-json", module],
        cwd=HERE / name,
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout or "{}")
    if "Dir" not in found:
        why = found.get("Error") or done.stderr
        skip_or_fail(CannotProvideError(f"{module} cannot be had: {why}"))
    return Path(found["Dir"])
