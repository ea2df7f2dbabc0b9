"""Makes a bundle from a folder of Rego.

Never called by a gate: its image has no compiler.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from core.base.errors import BundleRefusedError
from core.base.whole_files import write_whole
from policies.build.site_rego import FIELDS_SCHEMA, stage_sites
from policies.bundle.format import (
    FORMAT,
    JUDGE,
    NEEDS,
    Bundle,
    BundleCase,
    EngineName,
    Manifest,
    Rule,
    parse_bundle,
    with_manifest,
)
from policies.bundle.opa_runner import run_opa
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.forbidden_calls import refuse_outside
from policies.site.choices import NO_CHOICES, Choices

Carry = Callable[[Bundle], Sequence[BundleCase]]
"""Gives the cases that a bundle is to carry."""

_AREAS = tuple(["data", "sallyport", area] for area in ("privileges", "rules", "sandbox"))
"""Where packages are rules. A site's helper may be called `site.sandbox.…`, and is none."""


def build(  # noqa: PLR0913  What a bundle is made of, and for.
    opa: Path,
    folder: Path,
    output: Path,
    sites: Sequence[Path] = (),
    choices: Choices = NO_CHOICES,
    *,
    embedded: bool = True,
    carry: Carry | None = None,
    built_at: int = 0,
) -> None:
    """Compile the Rego of `folder` into a bundle at `output`, written in one step.

    `sites` are folders of a site's own rules and signals, put beside it with what `choices` names
    of the library. A bundle with any is loaded once before it is written, so that what a gate would
    refuse is refused here. Without `embedded` it is for an OPA server: what no engine takes is.
    `carry` gives the cases that such a bundle carries; `built_at`, in Unix seconds, is what it says
    of when it was built.

    Raises:
        BundleRefusedError: OPA refuses it, a rule lacks METADATA, or a site's Rego is none that may
            stand beside the built-in one; the message has the place.
    """
    with tempfile.TemporaryDirectory(prefix="sallyport-build-") as scratch:
        staged = Path(scratch)
        stage_built_in(folder, staged / "rego")
        wanted = sites or choices.rules
        own = stage_own(opa, staged, sites, choices, folder / "schema") if wanted else []
        archive = pack(opa, staged, own, "embedded" if embedded else "opa", built_at)
        if own:
            bundle = _proved(archive)
            if carry is not None and (cases := carry(bundle)):
                manifest = Manifest(
                    FORMAT, list(bundle.rules.values()), list(cases), bundle.engine, built_at
                )
                archive = with_manifest(archive, manifest, {})
    write_whole(output, archive, make_folder=True)


def pack(
    opa: Path,
    staged: Path,
    own: Sequence[Rule],
    engine: EngineName = "embedded",
    built_at: int = 0,
) -> bytes:
    """Compile what is staged in the folder `rego` of `staged`, with the site's `own` rules.

    Raises:
        BundleRefusedError: OPA refuses it; the message has the place.
    """
    entries = [argument for name in (NEEDS, JUDGE) for argument in ("-e", name)]
    run_opa(opa, staged, "build", "-t", "wasm", *entries, "-o", "out.tar.gz", "-b", "rego")
    rules = sorted(_rules(opa, staged, own), key=lambda rule: rule.id)
    return with_manifest(
        (staged / "out.tar.gz").read_bytes(),
        Manifest(FORMAT, rules, engine=engine, built_at=built_at),
        {str(p.relative_to(staged)): p.read_bytes() for p in staged.rglob("*.rego")},
    )


def stage_own(
    opa: Path, staged: Path, sites: Sequence[Path], choices: Choices, schemas: Path
) -> list[Rule]:
    """Stage the sites' Rego, and check it: a field that the input does not have is an error.

    Raises:
        BundleRefusedError: it is none that may stand beside the built-in one, or OPA refuses it.
    """
    built_in = {rule.id for rule in _rules(opa, staged, ())}
    rules = stage_sites(opa, staged, sites, built_in, choices)
    shutil.copytree(schemas, staged / "schema")
    shutil.move(staged / FIELDS_SCHEMA, staged / "schema" / FIELDS_SCHEMA)
    run_opa(opa, staged, "check", "--strict", "-s", "schema", "rego")
    return rules


def _proved(archive: bytes) -> Bundle:
    """Return the bundle that was made, where an engine takes it."""
    bundle = parse_bundle(archive, "the bundle")
    if bundle.engine == "opa":
        refuse_outside(bundle)
    else:
        EmbeddedEngine(bundle).close()
    return bundle


def stage_built_in(folder: Path, target: Path) -> None:
    """Copy the Rego that is not a test; fixtures and schemas are no part of a bundle."""
    found = [path for path in sorted(folder.rglob("*.rego")) if not path.stem.endswith("_test")]
    if not found:
        raise BundleRefusedError(f"{folder}: no Rego in it")
    for path in found:
        copy = target / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def _rules(opa: Path, staged: Path, own: Sequence[Rule]) -> Iterator[Rule]:
    """Yield all rules of what is staged; the METADATA of a site's `own` has been read already."""
    yield from own
    sites = {rule.id for rule in own}
    inspected = run_opa(opa, staged, "inspect", "-a", "-f", "json", "rego")
    for entry in msgspec.json.decode(inspected).get("annotations", []):
        path = [str(part["value"]) for part in entry["path"]]
        annotations = entry["annotations"]
        if annotations["scope"] == "package" and path[:3] in _AREAS and path[4:]:
            rule_id = "/".join(path[2:])
            if rule_id not in sites:
                yield _rule(rule_id, annotations)


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
            privileges=custom.get("privileges", []),
            sources=[str(source["ref"]) for source in annotations.get("related_resources", [])],
            **{key: custom[key] for key in weight},
        )
    except KeyError as error:
        raise BundleRefusedError(f"{rule_id}: METADATA lacks {error}") from error
