"""Puts folders of a site's Rego beside the built-in policies, and the Rego that joins them.

A site may have signals, each a package `sallyport.sandbox.<family>.<name>`; rules that deny or
warn, each a package `sallyport.rules.<category>.<name>`; and helpers in packages `site.<…>`.
Nothing else: Rego joins files of one package, so that a file in a package of the built-in policies
would add to them, contradict them, or stand in for them.
"""

import json
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from core.base.errors import BundleRefusedError
from policies import LIBRARY
from policies.bundle.format import Rule
from policies.site.choices import NO_CHOICES, Choice, Choices, check_names, parameters_of
from policies.site.fields import schema_of
from policies.site.metadata import AuthoredRule, read_rule
from policies.site.rego_parser import Module, parse, refusal_at

_HEAD: Final = """\
# Written by `sallyport policy build`. Where any of it is undefined, so is the answer.
package sallyport.site

known if {
	count(input.needs) >= 0
	count(input.projection.containers) >= 0
	count(input.fields) >= 0
	is_string(input.kind)
}

holds(kinds, namespaces, excluded) if {
	input.kind in kinds
	named(namespaces)
	not within(excluded)
}

named(namespaces) if count(namespaces) == 0

named(namespaces) if within(namespaces)

within(namespaces) if {
	some pattern in namespaces
	glob.match(pattern, [], input.context.namespace)
}
"""

_SET: Final = "\n{name} := {{\n{entries}}} if known\n"
_PARAMETERS: Final = """\
# Written by `sallyport policy build`: what the site chose.
package sallyport.parameters
"""

ChosenRule = tuple[AuthoredRule, Choice]

_AREAS: Final = {"signals": "sandbox", "deny": "rules", "warn": "rules"}

_SANDBOX: Final = ("sallyport", "sandbox")
_RULES: Final = ("sallyport", "rules")
_PARTS: Final = 4
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")

_FIX: Final = (
    "name it sallyport.rules.<category>.<name> for a rule, sallyport.sandbox.<family>.<name> for "
    "a signal, site.<name> for a helper"
)

_FOLDER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_LONGEST: Final = 100
"""Characters of a file's name in a bundle: those of a header of the archive."""

_MOST_FILES: Final = 1000
_SUFFIX: Final = ".rego"

FIELDS_SCHEMA: Final = "fields.json"
"""Where the schema of what rules declare lies, beside the Rego."""


def join_rules(chosen: Sequence[ChosenRule]) -> str:
    """Return the package `sallyport.site`: for each rule what it finds, where it holds."""
    return _HEAD + "".join(
        _SET.format(name=name, entries="".join(_entries(chosen, set_)))
        for name, set_ in (("signals", "signals"), ("denials", "deny"), ("warnings", "warn"))
    )


def _entries(chosen: Iterable[ChosenRule], name: str) -> Iterable[str]:
    for written, choice in chosen:
        if name in written.sets:
            _, family, rule = written.rule.id.split("/")
            found = f"data.sallyport.{_AREAS[name]}.{family}.{rule}.{name}"
            if name != "signals":
                found = f"[entry | {_where(written, choice)}; some entry in {found}]"
            yield f'\t"{family}/{rule}": {found},\n'


def _where(written: AuthoredRule, choice: Choice) -> str:
    lists = (written.rule.kinds, choice.namespaces, choice.excluded_namespaces)
    return f"holds({', '.join(json.dumps(each) for each in lists)})"


def write_parameters(values: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the package `sallyport.parameters`, by category and name of the rule."""
    lines = [_PARAMETERS]
    for rule, given in sorted(values.items()):
        category, name = rule.removeprefix("rules/").split("/")
        written = ", ".join(f"{json.dumps(key)}: {_open(given[key])}" for key in sorted(given))
        lines.append(f"\n{category}.{name} := {{{written}}}\n")
    return "".join(lines)


def _open(value: Any) -> str:
    """Write a value so that OPA's type checker knows its sort and not what is in it.

    Else a list that happens to be empty, or whose items happen to lack an optional key, makes the
    rule that reads it an error. A parameter that does not exist stays one.
    """
    text = json.dumps(value, sort_keys=True)
    if isinstance(value, list):
        return f"array.concat([], {text})"
    return f"object.union({{}}, {text})" if isinstance(value, dict) else text


def rule_id(module: Module, built_in: Collection[str]) -> str | None:
    """Return the id of a file of a rule or a signal, `rules/<category>/<name>`; None of a helper.

    Raises:
        BundleRefusedError: its package is not one that a site may have, or it is an entry point.
    """
    for annotations in module.annotations:
        if annotations.entrypoint:
            fix = "leave out 'entrypoint: true'"
            raise refusal_at(annotations.location, "is an entry point", fix)
    parts = module.parts
    if parts[0] == "site" and len(parts) > 1:
        return None
    if problem := _against(parts, built_in):
        raise refusal_at(module.location, f"package {'.'.join(parts)} {problem}", _FIX)
    return "/".join(parts[1:])


def _against(parts: Sequence[str], built_in: Collection[str]) -> str:
    """Say what is against a package that is no helper's; empty where nothing is."""
    rule = "/".join(parts[1:])
    named = len(parts) == _PARTS and all(_NAME.fullmatch(part) for part in parts)
    against = {
        "is none that a site's bundle may have": parts[0] != "sallyport",
        "is a built-in rule's": rule in built_in,
        "lies above a built-in rule's": any(f"{it}/".startswith(f"{rule}/") for it in built_in),
        "lies below a built-in rule's": any(rule.startswith(f"{it}/") for it in built_in),
        "is Sallyport's own": tuple(parts[:2]) not in {_SANDBOX, _RULES},
        "is no rule's and no signal's name (letters a-z, digits and _)": not named,
    }
    return next((problem for problem, holds in against.items() if holds), "")


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
    check_names(
        choices, [*(each.rule.id for each in written if each.rule.kinds), *list_library_rules()]
    )
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
    (rego / "site.rego").write_text(join_rules(chosen))
    (rego / "parameters.rego").write_text(
        write_parameters({rule: given for rule, given in values.items() if given})
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
    """Return the files of each rule and signal."""
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


def list_library_rules() -> list[str]:
    """Return the ids of the library's rules."""
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
