"""Puts folders of a site's Rego beside the built-in policies that a bundle is made of."""

import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from core.base.errors import BundleRefusedError
from policies import LIBRARY
from policies.build.generated import joined, parameters
from policies.build.packages import rule_id
from policies.bundle.format import Rule
from policies.site.choices import NO_CHOICES, Choices, check_names, parameters_of
from policies.site.metadata import read_rule
from policies.site.paths import schema_of
from policies.site.rego_parser import Module, parse

_FOLDER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_LONGEST: Final = 100
"""Characters of a file's name in a bundle: those of a header of the archive."""

_MOST_FILES: Final = 1000
_SUFFIX: Final = ".rego"

FIELDS_SCHEMA: Final = "fields.json"
"""Where the schema of what rules declare lies, beside the Rego."""


def stage_sites(
    opa: Path,
    staged: Path,
    sites: Sequence[Path],
    built_in: Collection[str],
    choices: Choices = NO_CHOICES,
) -> list[Rule]:
    """Copy the Rego of the sites into `staged`, beside the built-in one, and give its rules.

    `built_in` are the ids of the built-in rules. What `choices` names of the library comes along.
    Tests, fixtures and data stay out.

    Raises:
        BundleRefusedError: something may not stand in a bundle; the message has place and fix.
    """
    found = _modules(
        opa, staged, [*_copied(staged, sites), *_library(staged, choices, sites)], built_in
    )
    written = [read_rule(rule_id, modules) for rule_id, modules in sorted(found.items())]
    check_names(choices, [*(each.rule.id for each in written if each.rule.kinds), *in_library()])
    chosen = [(each, choices.of(each.rule)) for each in written]
    for each, choice in chosen:
        if choice.action == "off":
            for module in found[each.rule.id]:
                (staged / module.location.file).unlink()
    chosen = [(each, choice) for each, choice in chosen if choice.action != "off"]
    if not chosen:
        raise BundleRefusedError(
            f"{', '.join(str(site) for site in sites) or '--rules'}: no rule and no signal in it: "
            "add a package sallyport.rules.<category>.<name> (docs/policies/rules.md) or "
            "sallyport.sandbox.<family>.<name> (docs/sandbox/site-signals.md)"
        )
    values = {each.rule.id: parameters_of(each, choice) for each, choice in chosen}
    rego = staged / "rego"
    (rego / "site.rego").write_text(joined(chosen))
    (rego / "parameters.rego").write_text(
        parameters({rule: given for rule, given in values.items() if given})
    )
    rules = [
        msgspec.structs.replace(each.rule, action="warn" if choice.action == "warn" else "deny")
        for each, choice in chosen
    ]
    (staged / FIELDS_SCHEMA).write_bytes(msgspec.json.encode(schema_of(rules)))
    return rules


def _modules(
    opa: Path, staged: Path, files: Iterable[tuple[str, str]], built_in: Collection[str]
) -> dict[str, list[Module]]:
    """Give the files of each rule and signal."""
    found: dict[str, list[Module]] = {}
    owners: dict[tuple[str, ...], tuple[str, Module]] = {}
    for name, file in files:
        module = parse(opa, staged, file)
        rule = rule_id(module, built_in)
        owner, first = owners.setdefault(module.parts, (name, module))
        if owner != name:
            raise BundleRefusedError(
                f"{module.place}: package {'.'.join(module.parts)} is in {first.place} too, of "
                "another --site folder or of the library: name one of them otherwise"
            )
        if rule:
            found.setdefault(rule, []).append(module)
    return found


def in_library() -> list[str]:
    """Give the ids of the library's rules."""
    return sorted(
        f"rules/{path.parent.relative_to(LIBRARY).as_posix()}"
        for path in LIBRARY.glob(f"*/*/*{_SUFFIX}")
        if not path.stem.endswith("_test")
    )


def _library(staged: Path, choices: Choices, sites: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Copy those rules of the library that are chosen, and that no site's folder holds."""
    for rule in sorted(choices.named()):
        folder = LIBRARY / rule.removeprefix("rules/")
        if any(folder.is_relative_to(site.resolve()) for site in sites):
            continue
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            if not path.stem.endswith("_test"):
                file = f"rego/library/{rule.removeprefix('rules/')}/{path.name}"
                copy = staged / file
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
                yield "the library", file


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
