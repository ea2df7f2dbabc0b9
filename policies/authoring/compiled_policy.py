"""Rules compiled to WebAssembly with entry points of one's own, and evaluated one by one."""

import io
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from core.base.errors import BundleRefusedError, PolicyError
from policies.authoring.workspace import Workspace, run_program
from policies.engine.embedded_engine import EvaluationLimits, make_instance
from policies.engine.wasm import Code, Instance

_COMPILED = "entries.tar.gz"
_POLICY = "/policy.wasm"


class CompiledPolicy:
    """A compiled policy; an evaluation that failed leaves a new instance behind."""

    def __init__(self, wasm: bytes) -> None:
        self._code = Code(wasm)
        self._instance: Instance = make_instance(self._code, EvaluationLimits())

    def evaluate(self, name: str, document: bytes, seconds: float) -> bytes:
        """Return the result set of an entry point, `site.x_test.test_a`, as JSON.

        Raises:
            PolicyError: it took too long or too much memory, or failed.
        """
        try:
            number = self._instance.entrypoints[name.replace(".", "/")]
            return self._instance.evaluate(number, document, seconds)
        except PolicyError:
            self._instance.close()
            self._instance = make_instance(self._code, EvaluationLimits())
            raise

    def close(self) -> None:
        """Free it."""
        self._instance.close()
        self._code.close()


@contextmanager
def compile_entries(workspace: Workspace, names: Sequence[str]) -> Iterator[CompiledPolicy]:
    """Compile what is staged with these entry points.

    Raises:
        BundleRefusedError: OPA cannot; the message has its reason.
    """
    entries = [argument for name in names for argument in ("-e", name.replace(".", "/"))]
    ran = run_program(
        workspace.opa,
        workspace.folder,
        *("build", "-t", "wasm", *entries, "-o", _COMPILED, "-b", "rego"),
    )
    if ran.code:
        raise BundleRefusedError(workspace.places.named(ran.said))
    content = (workspace.folder / _COMPILED).read_bytes()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        stream = archive.extractfile(_POLICY)
        wasm = stream.read() if stream else b""
    compiled = CompiledPolicy(wasm)
    try:
        yield compiled
    finally:
        compiled.close()
