"""Bundles for tests: the built-in policies, with a site's own Rego beside them."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from policies import BUILT_IN_REGO
from policies.build.builder import build
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
    """Return Rego that adds an entry to a built-in rule when the Pod's OS is `trigger`.

    So the bundle passes the proof at load, and the condition is met by an input of choice.
    """
    return (
        "package sallyport.privileges.host.network\n\n"
        f'needs contains {entry} if {{\n\tinput.os == "trigger"\n\t{condition}\n}}\n'
    )


METADATA = """# METADATA
# scope: package
# title: Site
# description: Of the site.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# custom:
#   points: 25
#   message: does it ({value})
#   remedy: Leave it.
"""
"""Of a site's signal."""


def signal(
    condition: str = "true",
    package: str = "sallyport.sandbox.acme.x",
    entry: str = '{"path": "spec", "value": "v"}',
    metadata: str = METADATA,
) -> str:
    """Return a site's signal, which is met by Pods whose OS is `trigger` and by the condition."""
    return (
        f"{metadata}package {package}\n\n"
        f'signals contains {entry} if {{\n\tinput.projection.os == "trigger"\n\t{condition}\n}}\n'
    )


def make_site_bundle(folder: Path, *sites: Mapping[str, str]) -> Path:
    """Build a bundle of the built-in policies and folders of a site: `acme`, `acme1` …."""
    folders = [
        write_rego(folder / f"acme{number or ''}", files) for number, files in enumerate(sites)
    ]
    bundle = folder / "bundle.tar.gz"
    build(provide("opa"), BUILT_IN_REGO, bundle, folders)
    return bundle
