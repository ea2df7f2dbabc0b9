"""Says which built-in functions templates call that no engine here has."""

import io
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from policies.builtins.registry import SUPPLIED
from policies.bundle.opa_runner import run_opa
from policies.engine.wasm import Code, Instance
from policies.gatekeeper_import.rego_conversion import Converted
from policies.gatekeeper_import.shared_rego import SHARED_REGO
from policies.gatekeeper_import.syntax import dotted, references

_MEMORY_BYTES: Final = 64 * 1024 * 1024


def lacking(opa: Path, made: Mapping[str, Converted]) -> dict[str, list[str]]:
    """Give for each of the templates the functions that it calls and the engine lacks.

    Raises:
        BundleRefusedError: OPA cannot compile them.
        PolicyError: what it compiles them to cannot be loaded.
    """
    if not made:
        return {}
    missing = _required(opa, made) - SUPPLIED.keys()
    return {
        name: sorted(missing & {dotted(parts) for parts in references(list(each.trees))})
        for name, each in made.items()
    }


def _required(opa: Path, made: Mapping[str, Converted]) -> frozenset[str]:
    with tempfile.TemporaryDirectory(prefix="sallyport-import-") as scratch:
        folder = Path(scratch)
        for name, text in _files(made):
            (folder / name).write_text(text)
        entries = [
            argument
            for each in made.values()
            for argument in ("-e", f"{each.package.replace('.', '/')}/violation")
        ]
        run_opa(opa, folder, "build", "-t", "wasm", *entries, "-o", "out.tar.gz", "-b", ".")
        code = Code(_wasm((folder / "out.tar.gz").read_bytes()))
    try:
        instance = Instance(code, _MEMORY_BYTES, SUPPLIED)
        found = frozenset(instance.required)
        instance.close()
    finally:
        code.close()
    return found


def _files(made: Mapping[str, Converted]) -> Iterator[tuple[str, str]]:
    yield "shared.rego", SHARED_REGO
    for name, each in made.items():
        for file, text in each.texts.items():
            yield f"{name}-{file}", text


def _wasm(archive: bytes) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(archive)) as bundle:
        found: Any = bundle.extractfile("/policy.wasm")
        content: bytes = found.read()
        return content
