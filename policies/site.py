"""Puts folders of a site's Rego beside the built-in policies that a bundle is made of."""

import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from core.errors import BundleRefusedError
from policies.bundle import Rule
from policies.opa import run_opa
from policies.site_rules import Module, signal_id, site_rule

_FOLDER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_LONGEST: Final = 100
"""Characters of a file's name in a bundle: those of a header of the archive."""

_MOST_FILES: Final = 1000
_SUFFIX: Final = ".rego"

_MODULE: Final = msgspec.json.Decoder(Module)

_GENERATED: Final = """\
# Written by `sallyport policy build --site`. Where any of it is undefined, so is the answer.
package sallyport.site

signals := {{
{signals}}} if {{
	count(input.needs) >= 0
	count(input.projection.containers) >= 0
}}
"""


def stage_sites(
    opa: Path, staged: Path, sites: Sequence[Path], built_in: Collection[str]
) -> list[Rule]:
    """Copy the Rego of the sites into `staged`, beside the built-in one, and give its rules.

    `built_in` are the ids of the built-in rules. Tests, fixtures and data stay out.

    Raises:
        BundleRefusedError: something may not stand in a bundle; the message has place and fix.
    """
    signals: dict[str, list[Module]] = {}
    owners: dict[tuple[str, ...], tuple[str, Module]] = {}
    for name, file in _copied(staged, sites):
        module = _parsed(opa, staged, file)
        rule_id = signal_id(module, built_in)
        owner, first = owners.setdefault(module.parts, (name, module))
        if owner != name:
            raise BundleRefusedError(
                f"{module.place}: package {'.'.join(module.parts)} is in {first.place} too, of "
                "another --site folder: name one of them otherwise"
            )
        if rule_id:
            signals.setdefault(rule_id, []).append(module)
    if not signals:
        raise BundleRefusedError(
            f"{', '.join(str(site) for site in sites)}: no signal in it: add a package "
            "sallyport.sandbox.<family>.<name> (docs/sandbox/site-signals.md)"
        )
    rules = [site_rule(rule_id, modules) for rule_id, modules in sorted(signals.items())]
    (staged / "rego" / "site.rego").write_text(_generated(sorted(signals)))
    return rules


def _parsed(opa: Path, staged: Path, file: str) -> Module:
    parsed = run_opa(opa, staged, "parse", "-f", "json", "--json-include", "locations", file)
    try:
        return _MODULE.decode(parsed)
    except msgspec.MsgspecError as error:
        message = f"{file}: what opa parse prints of it cannot be read ({error}): use OPA 1.22"
        raise BundleRefusedError(message) from error


def _copied(staged: Path, sites: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Copy each file; give the name of its folder, and its own path below `staged`."""
    seen: dict[str, Path] = {}
    for site in sites:
        name = site.resolve().name
        if not site.is_dir() or not _FOLDER.fullmatch(name):
            raise BundleRefusedError(
                f"--site {site}: no folder whose name is letters, digits, '.', '_' and '-'"
            )
        if name in seen:
            raise BundleRefusedError(
                f"--site {site}: {seen[name]} is called {name!r} too: rename one of the folders"
            )
        seen[name] = site
        for path in _sources(site):
            file = f"rego/site/{name}/{path.relative_to(site).as_posix()}"
            if len(file) > _LONGEST or not file.isascii() or not file.isprintable():
                raise BundleRefusedError(
                    f"{file}: a name in a bundle has at most {_LONGEST} ASCII characters: "
                    "rename the file or its folders"
                )
            copy = staged / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            try:
                shutil.copyfile(path, copy)
            except OSError as error:
                raise BundleRefusedError(f"{path}: cannot be read: {error.strerror}") from error
            yield name, file


def _sources(site: Path) -> list[Path]:
    found = [path for path in _named_rego(site) if not path.stem.endswith("_test")]
    if not found:
        raise BundleRefusedError(f"--site {site}: no Rego in it")
    if len(found) > _MOST_FILES:
        raise BundleRefusedError(f"--site {site}: more than {_MOST_FILES} files of Rego in it")
    return found


def _named_rego(site: Path) -> Iterator[Path]:
    """Yield the files of Rego; what looks like some and would be left out is refused."""
    for path in sorted(site.rglob("*")):
        problem = ""
        if path.is_symlink() and path.is_dir():
            problem = "is a link to a folder, which is not followed: give it a --site of its own"
        elif path.suffix.lower() != _SUFFIX:
            continue
        elif path.suffix != _SUFFIX:
            problem = f"would be left out: call it {path.stem}{_SUFFIX}"
        elif not path.is_file():
            problem = "is called as Rego is, and is no file that can be read: rename or remove it"
        if problem:
            raise BundleRefusedError(f"{path}: {problem}")
        yield path


def _generated(rule_ids: Sequence[str]) -> str:
    """Give the package that hands the sites' signals to `judge`, by rule."""
    lines = []
    for rule_id in rule_ids:
        _, family, name = rule_id.split("/")
        lines.append(
            f'\t"{family}/{name}": data.sallyport.sandbox["{family}"]["{name}"].signals,\n'
        )
    return _GENERATED.format(signals="".join(lines))
