"""The image: the same bytes from the same inputs, whole by the specification, and little in it."""

import gzip
import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from deploy.image.root import python_of, run_with
from tests.unit.deploy.conftest import Made, make_from

LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def members(made: Made) -> list[tarfile.TarInfo]:
    """Return what is in all layers, in their order."""
    found = []
    for each in made.manifest["layers"]:
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(made.blob(each["digest"])))) as tar:
            found += tar.getmembers()
    return found


def test_the_same_inputs_give_the_same_bytes(made: Made, tmp_path: Path) -> None:
    """Made again elsewhere, later, of files with other times: archive and bill are the same."""
    source = tmp_path / "somewhere-else"
    shutil.copytree(made.source, source)
    for each in source.rglob("*"):
        os.utime(each, (time.time() - 86400,) * 2)
    again = make_from(source, tmp_path / "out")
    assert again.archive.read_bytes() == made.archive.read_bytes()
    assert again.bill == made.bill


def test_the_verifier_of_exports_lies_beside_it(made: Made) -> None:
    """It starts where there is no Sallyport, under a Python that has nothing else."""
    script = made.archive.with_name("verify_export.py")
    alone = [sys.executable, "-I", "-S", str(script), "--help"]
    done = subprocess.run(alone, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_descriptors_say_what_blobs_are(made: Made) -> None:
    """Digests, sizes and types, as image-spec's descriptor.md and manifest.md say; no blob more."""
    index = json.loads(made.files["index.json"])
    assert json.loads(made.files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = index["manifests"]
    manifest = made.manifest
    named = [entry, manifest["config"], *manifest["layers"]]
    assert {each["digest"]: each["size"] for each in named} == {
        each["digest"]: len(made.blob(each["digest"])) for each in named
    }
    assert {each["mediaType"] for each in manifest["layers"]} == {LAYER}
    assert (index["schemaVersion"], manifest["schemaVersion"]) == (2, 2)
    assert len(made.files) == len(named) + 2


def test_the_config_says_how_it_runs(made: Made) -> None:
    """As a user with a number, by our command; diff ids are of the layers unpacked."""
    manifest = made.manifest
    config = made.document(manifest["config"]["digest"])
    assert config["config"]["User"] == "65532:65532"
    assert config["config"]["Entrypoint"] == ["/usr/local/bin/sallyport"]
    assert config["created"] == "2023-11-14T22:13:20Z"
    unpacked = [gzip.decompress(made.blob(each["digest"])) for each in manifest["layers"]]
    digests = [f"sha256:{hashlib.sha256(each).hexdigest()}" for each in unpacked]
    assert config["rootfs"] == {"type": "layers", "diff_ids": digests}
    assert config["config"]["Labels"] == manifest["annotations"]
    assert set(manifest["annotations"]) >= {
        f"org.opencontainers.image.{each}"
        for each in ("version", "revision", "created", "licenses")
    }


def test_there_is_nothing_to_start_but_ours(made: Made) -> None:
    """No shell, no pip, no compiler; nothing gives its caller another's rights."""
    files = [each for each in members(made) if each.isreg()]
    programs = {each.name for each in files if "/bin/" in f"/{each.name}" and each.mode & 0o111}
    assert programs == {
        "usr/bin/python3.11",
        "usr/local/bin/kubectl-sallyport",
        "usr/local/bin/sallyport",
    }
    assert [each.name for each in files if each.mode & (stat.S_ISUID | stat.S_ISGID)] == []
    parts = {part for each in files for part in Path(each.name).parts}
    assert parts.isdisjoint({"pip", "ensurepip", "setuptools", "bash", "dash", "busybox"})


def test_all_belongs_to_root_who_alone_may_write(made: Made) -> None:
    """The process cannot change what it runs; only /tmp is everybody's."""
    found = members(made)
    assert {(each.uid, each.gid) for each in found} == {(0, 0)}
    writable = {each.name for each in found if each.mode & 0o022 and not each.issym()}
    assert writable == {"tmp"}


def test_the_rooms_are_there_with_byte_code(made: Made) -> None:
    """The compiled policies too, and none of the tests; byte code that asks for no time."""
    site = "usr/local/lib/python3.11/dist-packages"
    held = {each.name for each in members(made)}
    assert f"{site}/policies/compiled/builtin.tar.gz" in held
    assert f"{site}/cli/__pycache__/main.cpython-311.pyc" in held
    assert not any(name.startswith((f"{site}/tests", f"{site}/bench")) for name in held)
    *_, last = made.manifest["layers"]
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(made.blob(last["digest"])))) as tar:
        code = tar.extractfile(f"{site}/cli/__pycache__/main.cpython-311.pyc")
        assert code is not None
        # PEP 552: bit 0 says that a hash stands there, bit 1 that it is to be checked.
        assert int.from_bytes(code.read(8)[4:], "little") == 1


SCRIPT = """
import bz2, ctypes, lzma, sqlite3, ssl, sys, uuid, zlib, zoneinfo
sqlite3.connect(":memory:").execute("select 1")
for name in ("libpango-1.0.so.0", "libpangoft2-1.0.so.0", "libharfbuzz-subset.so.0"):
    ctypes.CDLL(name)
print(sys.version_info[:2], sys.executable)
"""


def test_its_python_has_what_the_rooms_import(base: Path, tmp_path: Path) -> None:
    """Modules of the standard library with their libraries, and those that write PDF."""
    script = tmp_path / "imports.py"
    script.write_text(SCRIPT)
    assert run_with(python_of(base), script).startswith(b"(3, 11)")


def test_its_modules_find_their_libraries(base: Path) -> None:
    """Each of Python's own that is in the image can be loaded there; what could not is left out."""
    folder = base / "usr/lib/python3.11/lib-dynload"
    needed = {path.name.partition(".")[0] for path in folder.glob("*.so")}
    assert {"_ssl", "_sqlite3", "_ctypes"} <= needed
    script = base / "load.py"
    script.write_text(f"for name in {sorted(needed)}: __import__(name)\n")
    try:
        run_with(python_of(base), script)
    finally:
        script.unlink()


def test_openssl_finds_whom_to_trust(base: Path) -> None:
    """Where it looks by itself: the links lead to the bundle inside the image."""
    bundle = base / "etc/ssl/certs/ca-certificates.crt"
    assert bundle.read_text().count("BEGIN CERTIFICATE") > 100
    assert os.readlink(base / "usr/lib/ssl/cert.pem") == "/etc/ssl/certs/ca-certificates.crt"  # noqa: PTH115  Not of this machine.


@pytest.mark.parametrize("name", ["etc/passwd", "etc/group"])
def test_the_user_has_a_name(base: Path, name: str) -> None:
    """Some libraries ask who they are."""
    assert any(":65532:" in line for line in (base / name).read_text().splitlines())
