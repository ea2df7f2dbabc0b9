"""Examples beside a rule: `pass.yaml` and `fail.yaml`, each one manifest, read as cases.

Beside them may lie `rules.yaml`, what they are judged with, and `message.txt`, all that is found in
`fail.yaml`: a line `PATH: MESSAGE` for each finding.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from core.base.errors import BundleRefusedError
from policies.authoring.cases import (
    CaseFile,
    ExpectedFinding,
    PolicyCase,
    document_of,
    find_cases,
    find_folder_rules,
    manifest_of,
    read_case,
    read_text,
)
from policies.site.choices import Choices, read_choices

_PASS: Final = "pass.yaml"  # noqa: S105 -- a file's name
_FAIL: Final = "fail.yaml"
_RULES: Final = "rules.yaml"
_MESSAGE: Final = "message.txt"


def find_examples(site: Path) -> list[Path]:
    """Return the examples in a folder and below it, sorted: those with Rego beside them."""
    return [path for path in sorted(site.rglob("*.yaml")) if _is_example(path)]


def find_all(site: Path) -> list[Path]:
    """Return the files of cases and of examples in a folder and below it."""
    return [*find_cases(site), *find_examples(site)]


def read_all(sites: Sequence[Path], choices: Choices) -> list[PolicyCase]:
    """Read the cases and the examples of folders; `choices` are those of --rules.

    Raises:
        BundleRefusedError: one is broken; the message has file and line.
    """
    return [read_case_file(path, site, choices) for site in sites for path in find_all(site)]


def read_case_file(path: Path, site: Path, choices: Choices) -> PolicyCase:
    """Read a case, or an example below the folder `site`.

    Raises:
        BundleRefusedError: see `read_all`.
    """
    if _is_example(path):
        return read_example(path, path.relative_to(site).as_posix(), choices)
    return read_case(path, choices)


def with_examples(sites: Sequence[Path], choices: Choices) -> Choices:
    """Return the choices with what `rules.yaml` beside examples says of rules they do not name.

    Raises:
        BundleRefusedError: such a file is broken.
    """
    rules = dict(choices.rules)
    for folder in {path.parent for site in sites for path in find_examples(site)}:
        for rule, choice in _beside(folder).rules.items():
            rules.setdefault(rule, choice)
    return Choices(rules)


def read_example(path: Path, name: str, choices: Choices) -> PolicyCase:
    """Read one, as a case of this name.

    Raises:
        BundleRefusedError: it is broken; the message has file and line.
    """
    value = document_of(path, read_text(path))
    if not isinstance(value, dict):
        raise BundleRefusedError(f"{path}:1: is no manifest")
    fails = path.name == _FAIL
    said = CaseFile(
        name=name,
        why="An example of the rule beside it.",
        object=value,
        expect="deny" if fails else "allow",
        findings=list(_found(path.with_name(_MESSAGE))) if fails else [],
    )
    return PolicyCase(
        file=str(path),
        said=said,
        manifest=manifest_of(path, {}, "", value),
        old=None,
        choices=Choices({**choices.rules, **_beside(path.parent).rules}),
        lines={},
        example=True,
    )


def _beside(folder: Path) -> Choices:
    path = folder / _RULES
    return read_choices(path) if path.is_file() else Choices()


def _found(path: Path) -> Iterator[ExpectedFinding]:
    if not path.is_file():
        return
    rules = find_folder_rules(path.parent)
    if len(rules) != 1:
        raise BundleRefusedError(
            f"{path}:1: is about the one rule beside it; there are {', '.join(rules) or 'none'}: "
            "write a case, which names its rules (docs/policies/testing.md)"
        )
    for number, line in enumerate(read_text(path).splitlines(), 1):
        place, colon, message = line.partition(": ")
        if not colon:
            raise BundleRefusedError(f"{path}:{number}: write PATH: MESSAGE")
        yield ExpectedFinding(rules[0], place, message)


def _is_example(path: Path) -> bool:
    return path.name in {_PASS, _FAIL} and any(path.parent.glob("*.rego"))
