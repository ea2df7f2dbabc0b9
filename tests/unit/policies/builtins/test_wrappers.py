"""Wrappers of data.sallyport.lib: the same on the embedded engine, and open to a site."""

import re
import subprocess
import tarfile
from pathlib import Path

from policies import BUILT_IN_REGO
from policies.builtins.registry import SUPPLIED
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.wasm import Code, Instance
from tests.tools.provide import provide
from tests.unit.policies.bundles import make_site_bundle, signal

TESTS = BUILT_IN_REGO / "lib" / "wrappers_test.rego"
MEMORY_BYTES = 64 * 1024 * 1024
SECONDS = 5


def test_wrappers_are_the_same_on_the_embedded_engine(tmp_path: Path) -> None:
    """Each of their Rego tests, compiled to WebAssembly, holds there too."""
    names = re.findall(r"(?m)^(test_\w+) if", TESTS.read_text())
    assert len(names) >= 10
    bundle = tmp_path / "out.tar.gz"
    entries = [argument for name in names for argument in ("-e", f"sallyport/lib_test/{name}")]
    files = [BUILT_IN_REGO / "lib" / "wrappers.rego", TESTS]
    subprocess.run(
        [provide("opa"), "build", "-t", "wasm", *entries, "-o", bundle, *files], check=True
    )
    with tarfile.open(bundle) as archive:
        file = archive.extractfile("/policy.wasm")
        assert file
        code = Code(file.read())
    try:
        instance = Instance(code, MEMORY_BYTES, SUPPLIED)
        for name in names:
            number = instance.entrypoints[f"sallyport/lib_test/{name}"]
            assert instance.evaluate(number, b"{}", SECONDS) == b'[{"result":true}]', name
        instance.close()
    finally:
        code.close()


def test_a_site_may_call_them(tmp_path: Path) -> None:
    """By data.sallyport.lib, without a copy of its own."""
    call = 'data.sallyport.lib.over("3Gi", "2Gi")'
    engine = EmbeddedEngine(read_bundle(make_site_bundle(tmp_path, {"x.rego": signal(call)})))
    engine.close()
