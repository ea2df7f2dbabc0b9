"""Cases: manifests with the verdict that is expected, one YAML file each, for people to read.

They lie in folders named `cases`; what lies below these (`cases/objects/`) is none.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import yaml

from core.base.errors import BundleRefusedError, InvalidObjectError, SettingsError
from kube.manifests.reader import Manifest, read_paths
from kube.manifests.strict_yaml import YamlError, load_all
from policies.site.choices import Choice, Choices

FOLDER: Final = "cases"
_SUFFIXES: Final = frozenset({".yaml", ".yml"})
_MOST_BYTES: Final = 1024 * 1024
_PAGE: Final = "docs/policies/testing.md says their shape"

_Line = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finding, or a signal, that is expected."""

    rule: _Line
    """`labels/required`, or with its first part, `rules/labels/required`."""
    path: str | None = None
    """Exactly this one; without it any."""
    message: str | None = None


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The namespace of a case."""

    name: _Line = "default"
    labels: dict[str, str] = {}


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file of a case, as its author wrote it."""

    name: _Line
    why: _Line
    """Why it must be so, for whoever reads it."""
    object: dict[str, Any]
    """A manifest, or `{file: PATH}`, from the case's folder on."""
    oldObject: dict[str, Any] | None = None  # noqa: N815 (as it is written)
    """What it was; the operation is an update then."""
    namespace: Place = Place()
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
    findings: list[Expected] = []
    """All of them."""
    signals: list[Expected] | None = None
    """All signals of the site; without, they are not looked at."""


class Case(msgspec.Struct, frozen=True):
    """A case that can be judged."""

    file: str
    said: Said
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
        """Give file and line of a field."""
        return f"{self.file}:{self.lines.get(field, 1)}"


def find_cases(site: Path) -> list[Path]:
    """Give the files of cases in a folder and below it, sorted."""
    folders = [path for path in sorted(site.rglob(FOLDER)) if path.is_dir()]
    if site.name == FOLDER:
        folders.insert(0, site)
    return [
        path
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.suffix in _SUFFIXES and not path.name.startswith(".")
    ]


def read_cases(sites: Sequence[Path], choices: Choices) -> list[Case]:
    """Read the cases of folders; `choices` are those of --rules.

    Raises:
        BundleRefusedError: one is broken; the message has file, line and field.
    """
    return [read_case(path, choices) for site in sites for path in find_cases(site)]


def read_case(path: Path, choices: Choices) -> Case:
    """Read one case.

    Raises:
        BundleRefusedError: see `read_cases`.
    """
    text = text_of(path)
    document, lines = document_of(path, text), lines_of(text)
    try:
        said = msgspec.convert(document, Said)
    except msgspec.ValidationError as error:
        raise _refused(path, lines, str(error)) from error
    _check(path, lines, said)
    return Case(
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


def text_of(path: Path) -> str:
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


def _check(path: Path, lines: Mapping[str, int], said: Said) -> None:
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
    """Give the manifest of a field, or of the file that it names.

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


def _chosen(said: Said, choices: Choices) -> Choices:
    rules = choices.rules | {_short(rule): choice for rule, choice in said.rules.items()}
    for rule, given in said.parameters.items():
        before = rules.get(_short(rule), Choice())
        parameters = {**before.parameters, **given}
        rules[_short(rule)] = msgspec.structs.replace(before, parameters=parameters)
    return Choices(rules)


def _short(rule: str) -> str:
    return rule.removeprefix("rules/")


def lines_of(text: str) -> dict[str, int]:
    """Give the line of each field of a YAML text, by its path; none where it is no YAML.

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
