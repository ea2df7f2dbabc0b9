"""Reading manifests: files, folders and streams of YAML or JSON, one object after the other."""

import json
import math
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from core.base.errors import InvalidObjectError, SettingsError
from kube.manifests.strict_yaml import LARGEST, MAX_DEPTH, SMALLEST, YamlError, load_all

MAX_BYTES: Final = 50 * 1024 * 1024
"""The largest file or stream read: about 30 times the largest object that etcd stores."""

SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object, with the `apiVersion` and `kind` that it is sure to have."""

    file: str
    """The file's path as it was given, or the stream's name."""
    source: str
    """Where in it: `pods.yaml#2`, the second document; `pods.yaml#1:items[3]` in a list."""
    value: dict[str, Any]

    @property
    def api_version(self) -> str:
        """The object's `apiVersion`."""
        return str(self.value["apiVersion"])

    @property
    def kind(self) -> str:
        """The object's `kind`."""
        return str(self.value["kind"])

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def raw(self) -> bytes:
        """The object as JSON."""
        return msgspec.json.encode(self.value)


def read_paths(paths: Iterable[Path]) -> Iterator[Manifest]:
    """Yield the objects of files, and of folders with all that lies in them, sorted by name.

    In a folder only `.yaml`, `.yml` and `.json` are read, and nothing whose name begins with
    a dot (so a mounted ConfigMap is read once).

    Raises:
        SettingsError: a path cannot be read, or is a pipe or a device.
        InvalidObjectError: content is broken; the message names file, document and line.
    """
    for path in paths:
        for file in find_files(path):
            try:
                with _open(file) as stream:
                    yield from read_stream(stream, str(file))
            except OSError as error:
                raise SettingsError(f"{file} cannot be read: {error.strerror}") from error


def read_each(paths: Iterable[Path]) -> Iterator[Manifest | InvalidObjectError]:
    """Yield what `read_paths` does, and for what is broken the error, which ends nothing else.

    Of a file that is no YAML nothing after that place is read.

    Raises:
        SettingsError: see `read_paths`.
    """
    for path in paths:
        for file in find_files(path):
            try:
                with _open(file) as stream:
                    yield from read_each_of(stream, str(file))
            except OSError as error:
                raise SettingsError(f"{file} cannot be read: {error.strerror}") from error


def _open(file: Path) -> BinaryIO:
    """Open a regular file, and never wait for who might write into a pipe."""
    regular = stat.S_ISREG(file.stat().st_mode)  # Before: opening a device can do things.
    if regular:
        stream = open(file, "rb", opener=_at_once)  # noqa: SIM115 -- Path.open has no opener
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            return stream
        stream.close()
    raise SettingsError(f"{file} is not a regular file: name a file, or - for standard input")


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def read_stream(stream: BinaryIO, name: str) -> Iterator[Manifest]:
    """Yield the objects of one stream of YAML documents, or of JSON. `name` is for messages.

    Lists (`List`, `PodList` …) give their items, which get the list's `apiVersion` and the
    singular `kind` where they have none of their own. Empty documents are skipped.

    Raises:
        InvalidObjectError: see `read_paths`.
    """
    for each in read_each_of(stream, name):
        if isinstance(each, InvalidObjectError):
            raise each
        yield each


def read_each_of(stream: BinaryIO, name: str) -> Iterator[Manifest | InvalidObjectError]:
    """Yield what `read_stream` does, and for what is broken the error, as `read_each`."""
    try:
        for position, value in enumerate(_documents(_text(stream, name), name), start=1):
            if value is not None:
                yield from _flatten(value, name, f"{name}#{position}", {})
    except InvalidObjectError as error:
        yield error


def _text(stream: BinaryIO, name: str) -> str:
    content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise InvalidObjectError(name, "", f"is larger than {MAX_BYTES} bytes: split it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidObjectError(name, "", f"is not UTF-8: {error}") from error


def find_files(path: Path) -> Iterator[Path]:
    """Yield the file itself, or the manifests in a folder and those below it, sorted by name.

    Raises:
        SettingsError: there is no such file or folder.
    """
    if not path.exists():
        raise SettingsError(f"{path} does not exist: name a file or a folder of YAML")
    if not path.is_dir():
        yield path
        return
    for folder, names, files in os.walk(path, onerror=_refuse):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES:
                yield Path(folder, name)


def _refuse(error: OSError) -> None:
    raise SettingsError(f"{error.filename} cannot be read: {error.strerror}") from error


def _documents(text: str, name: str) -> Iterator[Any]:
    try:
        # What `kubectl -o json` and Python write is JSON that YAML 1.1 does not quite contain.
        if text.lstrip()[:1] in {"{", "["} and (value := _json(text, name)) is not None:
            yield value
            return
        for _, value in load_all(text):
            yield value
    except YamlError as error:
        where = f"{name}, line {error.line}" if error.line else name
        raise InvalidObjectError(where, "", error.problem) from error


def _json(text: str, name: str) -> Any:
    """Return the value of JSON text; None for what may be YAML that begins like JSON."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        if name.lower().endswith(".json"):
            raise YamlError(error.msg, error.lineno) from error
        return None
    except RecursionError as error:
        raise YamlError(f"values are nested more than {MAX_DEPTH} deep") from error
    except ValueError as error:
        raise YamlError(str(error)) from error
    _check_json(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise YamlError(f"duplicate key {key!r}")
            seen.add(key)
    return result


def _refuse_constant(word: str) -> None:
    raise YamlError(f"{word} is not JSON")


def _check_json(value: Any) -> None:
    """Hold JSON to the same depth, numbers and text as YAML."""
    level = [value]
    for _ in range(MAX_DEPTH + 2):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            break
    else:
        raise YamlError(f"values are nested more than {MAX_DEPTH} deep")
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError as error:
        raise YamlError("half of a surrogate pair stands alone") from error


def _children(parent: Any) -> Iterable[Any]:
    if isinstance(parent, float) and not math.isfinite(parent):
        raise YamlError("a number is too large")
    if isinstance(parent, int) and not SMALLEST <= parent <= LARGEST:
        raise YamlError(f"{parent} does not fit in 64 bits")
    if isinstance(parent, dict):
        return parent.values()
    return parent if isinstance(parent, list) else ()


def _flatten(
    value: Any, file: str, source: str, inherited: dict[str, str]
) -> Iterator[Manifest | InvalidObjectError]:
    if not isinstance(value, dict):
        yield InvalidObjectError(source, "", f"must be an object, is {_name_type(value)}")
        return
    value = inherited | value
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field), str) or not value[field]:
            yield InvalidObjectError(source, field, "is missing, or is not a string")
            return
    if not _is_list(value):
        yield Manifest(file, source, value)
        return
    singular = value["kind"].removesuffix("List")
    given = {"apiVersion": value["apiVersion"], "kind": singular} if singular else {}
    for index, item in enumerate(value["items"] or ()):
        yield from _flatten(item, file, f"{source}:items[{index}]", given)


def _is_list(value: dict[str, Any]) -> bool:
    has_items = "items" in value and isinstance(value["items"], list | None)
    return has_items and value["kind"].endswith("List")


def _name_type(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return "text" if isinstance(value, str) else f"{value!r}"
