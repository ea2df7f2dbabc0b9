"""OpenReports' own CRDs, out of its Go module (tests/tools/openreports pins version and sum)."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.harness.client import Client, Json, read_objects
from tests.harness.programs import skip_or_fail
from tests.tools.provide import HERE, CannotProvideError

API_VERSION: Final = "openreports.io/v1alpha1"
_MODULE: Final = "github.com/openreports/reports-api"


def crds() -> list[Json]:
    """Give the CustomResourceDefinitions; without Go or the module see `skip_or_fail`."""
    folder = _module() / "config" / "crd"
    return [item for file in sorted(folder.glob("*.yaml")) for item in read_objects(file)]


async def install_crds(client: Client) -> None:
    """Put the CRDs into the cluster, and wait until they are served."""
    await client.apply(crds())
    for kind in ("Report", "ClusterReport"):
        await client.wait_for_kind(API_VERSION, kind)


def _module() -> Path:
    go = shutil.which("go")
    if go is None:
        skip_or_fail(CannotProvideError("OpenReports' CRDs are in a Go module: install Go 1.26"))
    done = subprocess.run(
        [go, "mod", "download", "-json", _MODULE],
        cwd=HERE / "openreports",
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout or "{}")
    if "Dir" not in found:
        why = found.get("Error") or done.stderr
        skip_or_fail(CannotProvideError(f"{_MODULE} cannot be had: {why}"))
    return Path(found["Dir"])
