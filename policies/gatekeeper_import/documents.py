"""Reads the objects in files of YAML, each with its place."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from core.base.errors import BundleRefusedError, SettingsError
from kube.manifests.strict_yaml import YamlError, load_all

_MOST_BYTES: Final = 8 * 1024 * 1024
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})


class _Loader(yaml.SafeLoader):
    """Reads dates as the text that they are, as Kubernetes does."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class Document(msgspec.Struct, frozen=True):
    """One object."""

    file: str
    line: int
    """Of the object's first line, from 1."""
    value: dict[str, Any]
    node: Any
    """The tree of YAML that it was made from, which knows the line of each field."""

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"

    def text_line(self, *steps: str | int) -> tuple[int, bool]:
        """Return the line on which a field's text begins, and whether each line is one of it."""
        node = self.node
        for step in steps:
            node = _child(node, step)
            if node is None:
                return self.line, False
        block = isinstance(node, yaml.ScalarNode) and node.style == "|"
        return int(node.start_mark.line) + (2 if block else 1), block


def _child(node: Any, step: str | int) -> Any:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
        return node.value[step]
    return None


def read_documents(paths: Iterable[Path]) -> Iterator[Document]:
    """Yield each object of files and of the YAML in folders; of a List, each of its items.

    Raises:
        SettingsError: there is no such file, or it cannot be read.
        BundleRefusedError: it is no YAML; has file and line.
    """
    for path in paths:
        for file in _files(path):
            yield from _objects(file)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return [each for each in sorted(path.rglob("*")) if each.suffix in _SUFFIXES and each.is_file()]


def _objects(file: Path) -> Iterator[Document]:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}") from error
    if len(content) > _MOST_BYTES:
        raise BundleRefusedError(f"{file}: larger than {_MOST_BYTES >> 20} MiB: split it")
    try:
        for _ in load_all(content.decode()):
            pass  # It bounds what aliases repeat, and refuses a key that is there twice.
        loader = _Loader(content)
        while loader.check_node():
            node = loader.get_node()
            yield from _unlisted(str(file), node, loader.construct_document(node))
    except YamlError as error:
        place = f"{file}:{error.line}" if error.line else str(file)
        raise BundleRefusedError(f"{place}: is no YAML: {error.problem}") from error
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise BundleRefusedError(f"{file}{line}: is no YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BundleRefusedError(f"{file}: is no YAML: {error}") from error


def _unlisted(file: str, node: Any, value: Any) -> Iterator[Document]:
    if not isinstance(value, dict):
        return
    items = value.get("items")
    if str(value.get("kind", "")).endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            inner = _child(_child(node, "items"), index)
            if isinstance(item, dict):
                yield Document(file, inner.start_mark.line + 1, item, inner)
        return
    yield Document(file, node.start_mark.line + 1, value, node)
