"""Bundles for tests: the built-in policies, with a site's own Rego beside them."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from policies import BUILT_IN_REGO
from policies.build import build
from tests.tools.provide import provide


def make_bundle(
    folder: Path, site: Mapping[str, str] | None = None, base: Path = BUILT_IN_REGO
) -> Path:
    """Build a bundle of `base` and the site's files, by name, in `folder`."""
    rego = folder / "staged"
    shutil.rmtree(rego, ignore_errors=True)
    shutil.copytree(base, rego)
    write_rego(rego, site or {})
    bundle = folder / "bundle.tar.gz"
    build(provide("opa"), rego, bundle)
    return bundle


def write_rego(folder: Path, files: Mapping[str, str]) -> Path:
    """Write Rego files; gives the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def rule(condition: str, entry: str = '{"privilege": "site/found", "path": "spec"}') -> str:
    """Give Rego that adds an entry to a built-in rule when the Pod's OS is `trigger`.

    So the bundle passes the proof at load, and the condition is met by an input of choice.
    """
    return (
        "package sallyport.privileges.host.network\n\n"
        f'needs contains {entry} if {{\n\tinput.os == "trigger"\n\t{condition}\n}}\n'
    )
