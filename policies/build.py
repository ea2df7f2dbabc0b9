"""Makes a bundle from a folder of Rego: the one place that runs OPA's compiler.

Never called by a gate: its image has no compiler.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from core.errors import BundleRefusedError
from policies.bundle import ENTRYPOINT, FORMAT, Manifest, Rule, with_manifest

_AREAS = ("privileges", "rules", "sandbox")
"""Areas of `sallyport.<area>.…` whose packages are rules."""


def build(opa: Path, folder: Path, output: Path) -> None:
    """Compile the Rego of `folder` into a bundle at `output`, written in one step.

    Raises:
        BundleRefusedError: OPA refuses it, or a rule lacks METADATA; the message has the place.
    """
    with tempfile.TemporaryDirectory(prefix="sallyport-build-") as scratch:
        staged = Path(scratch)
        _stage(folder, staged / "rego")
        _opa(opa, staged, "build", "-t", "wasm", "-e", ENTRYPOINT, "-o", "out.tar.gz", "-b", "rego")
        annotations = _opa(opa, staged, "inspect", "-a", "-f", "json", "rego")
        manifest = Manifest(FORMAT, sorted(_rules(annotations), key=lambda rule: rule.id))
        sources = {str(p.relative_to(staged)): p.read_bytes() for p in staged.rglob("*.rego")}
        output.parent.mkdir(parents=True, exist_ok=True)
        partial = output.with_suffix(".partial")
        archive = (staged / "out.tar.gz").read_bytes()
        partial.write_bytes(with_manifest(archive, manifest, sources))
        partial.replace(output)


def _stage(folder: Path, target: Path) -> None:
    """Copy the Rego that is not a test; fixtures and schemas are no part of a bundle."""
    found = [path for path in sorted(folder.rglob("*.rego")) if not path.stem.endswith("_test")]
    if not found:
        raise BundleRefusedError(f"{folder}: no Rego in it")
    for path in found:
        copy = target / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def _opa(opa: Path, folder: Path, *arguments: str) -> bytes:
    """Run OPA in `folder`, so that no path of this machine gets into a bundle."""
    command: list[str | Path] = [opa.resolve(), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if done.returncode:
        text = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise BundleRefusedError(f"opa {arguments[0]} refused the policies:\n{text}")
    return done.stdout


def _rules(inspected: bytes) -> Iterator[Rule]:
    for entry in msgspec.json.decode(inspected).get("annotations", []):
        path = [str(part["value"]) for part in entry["path"]]
        annotations = entry["annotations"]
        if annotations["scope"] == "package" and path[2:3] and path[2] in _AREAS and path[4:]:
            yield _rule("/".join(path[2:]), annotations)


def _rule(rule_id: str, annotations: dict[str, Any]) -> Rule:
    custom = annotations.get("custom", {})
    weight = {"points" if rule_id.startswith("sandbox/") else "severity"}
    try:
        return Rule(
            id=rule_id,
            title=annotations["title"],
            description=annotations["description"],
            message=custom["message"],
            remedy=custom["remedy"],
            since=custom["since"],
            risk=custom.get("risk", 0),
            risks=custom.get("risks", {}),
            sources=[str(source["ref"]) for source in annotations.get("related_resources", [])],
            **{key: custom[key] for key in weight},
        )
    except KeyError as error:
        raise BundleRefusedError(f"{rule_id}: METADATA lacks {error}") from error
