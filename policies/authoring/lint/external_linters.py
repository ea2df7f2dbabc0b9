"""What `opa fmt`, `opa check --strict` and regal say of rules."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from core.base.errors import BundleRefusedError
from policies.authoring.lint.problems import Level, Problem, problem_of
from policies.authoring.workspace import run_program

_MISSPELT: Final = "see the fields of the input in schema/ ('sallyport policy schema')"


_REGAL: Final = Path(__file__).parent / "regal.yaml"
"""What regal is asked where a site says nothing of it."""

_CONFIGURATIONS: Final = (".regal/config.yaml", ".regal.yaml")


def find_unformatted(opa: Path, folder: Path, files: Sequence[str]) -> Iterator[Problem]:
    """Find files that `opa fmt` would write otherwise, with the first line that differs."""
    for file in files:
        ran = run_program(opa, folder, "fmt", file)
        if ran.code:
            yield problem_of(ran.said, "parse", file)
            continue
        before = (folder / file).read_text(errors="replace").splitlines()
        after = ran.out.decode(errors="replace").splitlines()
        if before != after:
            pairs = enumerate(zip(before, after, strict=False), 1)
            line = next((n for n, (old, new) in pairs if old != new), min(len(before), len(after)))
            yield Problem(
                file, line, 1, "format", Level.ERROR, "is not as opa fmt writes it",
                f"run: opa fmt --write {file}",
            )  # fmt: skip


def find_check_problems(opa: Path, folder: Path) -> Iterator[Problem]:
    """Find what `opa check --strict` says, with the schemas of the input."""
    ran = run_program(opa, folder, "check", "--strict", "-s", "schema", "-f", "json", "rego")
    if ran.code == 0:
        return
    try:
        errors: Any = msgspec.json.decode(ran.out or ran.err.encode())["errors"]
    except (msgspec.DecodeError, LookupError, TypeError):
        yield problem_of(ran.said, "check", "rego")
        return
    for each in errors:
        at = each.get("location") or {}
        yield Problem(
            at.get("file", "rego"),
            at.get("row", 1),
            at.get("col", 1),
            str(each.get("code", "check")).removeprefix("rego_").replace("_", "-"),
            Level.ERROR,
            str(each.get("message")),
            _MISSPELT if "undefined ref" in str(each.get("message")) else "",
        )


def find_regal_problems(regal: Path, sites: Sequence[Path]) -> Iterator[Problem]:
    """Find what regal says of the folders (`regal lint --format json`), as they or we configure it.

    Raises:
        BundleRefusedError: what it prints cannot be read.
    """
    config = () if any(map(_configures, sites)) else ("--config-file", str(_REGAL))
    ran = run_program(regal, Path(), "lint", "--format", "json", *config, *map(str, sites))
    try:
        violations = msgspec.json.decode(ran.out)["violations"] or ()
        for each in violations:
            at = each["location"]
            level = Level.ERROR if each.get("level") == "error" else Level.WARNING
            pages = [str(it["ref"]) for it in each.get("related_resources") or () if "ref" in it]
            yield Problem(
                str(at["file"]),
                int(at.get("row") or 1),
                int(at.get("col") or 1),
                f"regal-{each['title']}",
                level,
                str(each.get("description", "")),
                ", ".join(pages),
            )
    except (msgspec.DecodeError, LookupError, TypeError) as error:
        raise BundleRefusedError(f"regal lint prints what cannot be read: {ran.said}") from error


def _configures(site: Path) -> bool:
    """Return whether a folder, or one above it, has a configuration of regal."""
    folder = site.resolve()
    return any(
        (above / name).exists() for above in (folder, *folder.parents) for name in _CONFIGURATIONS
    )
