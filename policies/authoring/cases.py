"""Cases: manifests with the verdict that is expected, one YAML file each, for people to read.

They lie in folders named `cases`; what lies below these (`cases/objects/`) is none. A case is about
the rules beside its folder, and below; a verdict that differs is shown as the lines of a diff.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal

import msgspec
import yaml

from core.base.errors import BundleRefusedError, InvalidObjectError, SettingsError
from kube.manifests.reader import Manifest, read_paths
from kube.manifests.strict_yaml import YamlError, load_all
from policies.authoring.workspace import SITE_FILES, TEST_SUFFIX
from policies.bundle.format import Bundle
from policies.site.choices import Choice, Choices

FOLDER: Final = "cases"
_SUFFIXES: Final = frozenset({".yaml", ".yml"})
_MOST_BYTES: Final = 1024 * 1024
_PAGE: Final = "docs/policies/testing.md says their shape"

_Line = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]

_PACKAGE: Final = re.compile(
    r"^package sallyport\.((?:rules|sandbox)\.\w+\.\w+)\s*(?:#.*)?$", re.MULTILINE
)

_NOT_BUILT_IN: Final = (SITE_FILES, "rego/library/")


class ExpectedFinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finding, or a signal, that is expected."""

    rule: _Line
    """`labels/required`, or with its first part, `rules/labels/required`."""
    path: str | None = None
    """Exactly this one; without it any."""
    message: str | None = None


class CaseNamespace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The namespace of a case."""

    name: _Line = "default"
    labels: dict[str, str] = {}


class CaseFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file of a case, as its author wrote it."""

    name: _Line
    why: _Line
    """Why it must be so, for whoever reads it."""
    object: dict[str, Any]
    """A manifest, or `{file: PATH}`, from the case's folder on."""
    oldObject: dict[str, Any] | None = None  # noqa: N815 (as it is written)
    """What it was; the operation is an update then."""
    namespace: CaseNamespace = CaseNamespace()
    user: str = msgspec.field(default="", name="as")
    """Who submits it; without, the service account of a Pod, and nobody of other kinds."""
    groups: list[str] = []
    operation: Literal["", "CREATE", "UPDATE"] = ""
    profile: str = "pss-privileged"
    """The profile that it is judged by; that of the default covers all."""
    rules: dict[str, Choice] = {}
    """As in the file of --rules; what is said here stands in its place."""
    parameters: dict[str, dict[str, Any]] = {}
    """By rule: parameters alone."""
    expect: Literal["allow", "warn", "deny"]
    findings: list[ExpectedFinding] = []
    """All of them."""
    signals: list[ExpectedFinding] | None = None
    """All signals of the site; without, they are not looked at."""


class PolicyCase(msgspec.Struct, frozen=True):
    """A case that can be judged."""

    file: str
    said: CaseFile
    manifest: Manifest
    old: Manifest | None
    choices: Choices
    lines: Mapping[str, int]
    """Of fields, by path: `expect`, `findings[0]`."""
    example: bool = False
    """Of a `fail.yaml`: where no findings are said, any will do."""

    @property
    def folder(self) -> Path:
        """The folder that it is about: the one above `cases`, or that of an example."""
        parent = Path(self.file).parent
        return parent if self.example else parent.parent

    @property
    def softened(self) -> frozenset[str]:
        """The rules that only --rules makes warn: the case may still say that they deny."""
        own = {_short(rule) for rule in self.said.rules}
        chosen = {name for name, it in self.choices.rules.items() if it.action == "warn"}
        return frozenset(f"rules/{name}" for name in chosen - own)

    def place(self, field: str) -> str:
        """Return file and line of a field."""
        return f"{self.file}:{self.lines.get(field, 1)}"


def find_cases(site: Path) -> list[Path]:
    """Return the files of cases in a folder and below it, sorted."""
    folders = [path for path in sorted(site.rglob(FOLDER)) if path.is_dir()]
    if site.name == FOLDER:
        folders.insert(0, site)
    return [
        path
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.suffix in _SUFFIXES and not path.name.startswith(".")
    ]


def read_cases(sites: Sequence[Path], choices: Choices) -> list[PolicyCase]:
    """Read the cases of folders; `choices` are those of --rules.

    Raises:
        BundleRefusedError: one is broken; the message has file, line and field.
    """
    return [read_case(path, choices) for site in sites for path in find_cases(site)]


def read_case(path: Path, choices: Choices) -> PolicyCase:
    """Read one case.

    Raises:
        BundleRefusedError: see `read_cases`.
    """
    text = read_text(path)
    document, lines = document_of(path, text), lines_of(text)
    try:
        said = msgspec.convert(document, CaseFile)
    except msgspec.ValidationError as error:
        raise _refused(path, lines, str(error)) from error
    _check(path, lines, said)
    return PolicyCase(
        file=str(path),
        said=said,
        manifest=manifest_of(path, lines, "object", said.object),
        old=manifest_of(path, lines, "oldObject", said.oldObject) if said.oldObject else None,
        choices=_chosen(said, choices),
        lines=lines,
    )


def document_of(path: Path, text: str) -> Any:
    """Read YAML of one document.

    Raises:
        BundleRefusedError: it is none, or there are several.
    """
    try:
        documents = list(load_all(text))
    except YamlError as error:
        raise BundleRefusedError(f"{path}:{error.line or 1}: {error.problem}") from error
    if len(documents) != 1:
        message = f"{path}:1: {len(documents)} documents: write one file for each case"
        raise BundleRefusedError(message)
    return documents[0][1]


def read_text(path: Path) -> str:
    """Read a file of a case.

    Raises:
        BundleRefusedError: it cannot be read, or is too large.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BundleRefusedError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > _MOST_BYTES:
        raise BundleRefusedError(f"{path}: larger than {_MOST_BYTES >> 20} MiB")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise BundleRefusedError(f"{path}: is not UTF-8: {error}") from error


def _refused(path: Path, lines: Mapping[str, int], said: str) -> BundleRefusedError:
    """Make the error of what msgspec says: `… - at `$.findings[0]``."""
    problem, _, at = said.partition(" - at `$")
    field = at.rstrip("`").lstrip(".")
    unknown = problem.partition("unknown field `")[2].rstrip("`")
    named = ".".join(filter(None, (field, unknown)))
    line = lines.get(named) or lines.get(field) or 1
    problem = f"there is no such field: {_PAGE}" if unknown else f"{problem}: {_PAGE}"
    return BundleRefusedError(f"{path}:{line}: {f'{named}: ' if named else ''}{problem}")


def _check(path: Path, lines: Mapping[str, int], said: CaseFile) -> None:
    """Demand what no type says."""
    problem, field = "", "expect"
    if said.expect == "allow" and said.findings:
        problem = "what is allowed has no findings: expect warn or deny, or leave out findings"
    elif said.expect != "allow" and not said.findings:
        problem = "say which findings are expected: findings: [{rule: …, path: …}]"
    elif said.groups and not said.user:
        problem, field = "groups say nothing without 'as'", "groups"
    elif said.operation == "UPDATE" and said.oldObject is None:
        problem, field = "an UPDATE has an oldObject", "operation"
    elif said.operation == "CREATE" and said.oldObject is not None:
        problem, field = "a CREATE has no oldObject", "operation"
    if problem:
        raise BundleRefusedError(f"{path}:{lines.get(field, 1)}: {field}: {problem}")


def manifest_of(
    path: Path, lines: Mapping[str, int], field: str, value: dict[str, Any]
) -> Manifest:
    """Return the manifest of a field, or of the file that it names.

    Raises:
        BundleRefusedError: there is none.
    """
    where = f"{path}:{lines.get(field, 1)}: {field}".removesuffix(": ")
    if set(value) == {"file"}:
        return _in_file(path, where, str(value["file"]))
    if not (isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str)):
        raise BundleRefusedError(f"{where}: has no apiVersion and kind, and names no file")
    return Manifest(str(path), str(path), value)


def _in_file(path: Path, where: str, name: str) -> Manifest:
    try:
        manifests = list(read_paths([path.parent / name]))
    except (SettingsError, InvalidObjectError) as error:
        raise BundleRefusedError(f"{where}: {error}") from error
    if len(manifests) != 1:
        message = f"{where}: {name} holds {len(manifests)} objects: name a file of one"
        raise BundleRefusedError(message)
    return manifests[0]


def _chosen(said: CaseFile, choices: Choices) -> Choices:
    rules = choices.rules | {_short(rule): choice for rule, choice in said.rules.items()}
    for rule, given in said.parameters.items():
        before = rules.get(_short(rule), Choice())
        parameters = {**before.parameters, **given}
        rules[_short(rule)] = msgspec.structs.replace(before, parameters=parameters)
    return Choices(rules)


def _short(rule: str) -> str:
    return rule.removeprefix("rules/")


def lines_of(text: str) -> dict[str, int]:
    """Return the line of each field of a YAML text, by its path; none where it is no YAML.

    Only for what `load_all` takes: libyaml's composer has no bound on nesting.
    """
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError):
        return {}
    return dict(_lines(node, "")) if node is not None else {}


def _lines(node: yaml.Node, path: str) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                inner = f"{path}.{key.value}" if path else str(key.value)
                yield inner, key.start_mark.line + 1
                yield from _lines(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            inner = f"{path}[{number}]"
            yield inner, value.start_mark.line + 1
            yield from _lines(value, inner)


def diff_case(expected: Sequence[ExpectedFinding], found: Sequence[ExpectedFinding]) -> list[str]:
    """Return a line `- …` for each that was expected and not found, `+ …` for the opposite.

    Each is found once; what names a path or a message too is looked for first.
    """
    left, missing = list(found), []
    for each in sorted(expected, key=_vague):
        match = next((one for one in left if _fits(each, one)), None)
        if match is None:
            missing.append(f"- {_line(each)}")
        else:
            left.remove(match)
    return [*missing, *(f"+ {_line(one)}" for one in left)]


def _vague(expected: ExpectedFinding) -> int:
    return (expected.path is None) + (expected.message is None)


def _fits(expected: ExpectedFinding, found: ExpectedFinding) -> bool:
    return (
        found.rule in {expected.rule, f"rules/{expected.rule}", f"sandbox/{expected.rule}"}
        and expected.path in {None, found.path}
        and expected.message in {None, found.message}
    )


def _line(each: ExpectedFinding) -> str:
    parts = {"rule": each.rule, "path": each.path, "message": each.message}
    return ", ".join(f"{name}: {value}" for name, value in parts.items() if value is not None)


def files_of_rules(bundle: Bundle) -> dict[str, PurePosixPath]:
    """Return the file of each rule and signal that is no built-in one, by its id.

    Of several files it is the first.
    """
    found: dict[str, PurePosixPath] = {}
    for path, text in sorted(bundle.sources.items()):
        if path.startswith(_NOT_BUILT_IN) and (package := _PACKAGE.search(text)):
            found.setdefault(package[1].replace(".", "/"), PurePosixPath(path))
    return found


def find_folder_rules(folder: Path) -> list[str]:
    """Return the ids of the rules of a folder (`rules/labels/team`): of its Rego but the tests.

    Raises:
        BundleRefusedError: a file cannot be read.
    """
    files = [path for path in folder.glob("*.rego") if not path.stem.endswith(TEST_SUFFIX)]
    packages = [each[1] for path in files if (each := _PACKAGE.search(read_text(path)))]
    return sorted({each.replace(".", "/") for each in packages if each.startswith("rules.")})


def find_unrelated_rules(
    about: Path, sites: Sequence[Path], files: Mapping[str, PurePosixPath]
) -> frozenset[str]:
    """Return the rules and signals that a case of the folder `about` says nothing about.

    A case in `labels/team/cases` is about the rules in `labels/team` and below; where there is
    none, about those of the folder above; one in the `cases` of the whole folder about all, those
    that are chosen of the library among them.
    """
    site = next((each for each in sites if about.resolve().is_relative_to(each.resolve())), None)
    if site is None:
        return frozenset()
    root = PurePosixPath(SITE_FILES) / site.resolve().name
    folder = root / about.resolve().relative_to(site.resolve()).as_posix()
    while folder != root and not any(each.is_relative_to(folder) for each in files.values()):
        folder = folder.parent
    if folder == root:
        return frozenset()
    return frozenset(rule for rule, file in files.items() if not file.is_relative_to(folder))
