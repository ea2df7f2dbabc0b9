"""Reading a bundle: whatever is wrong with the file is refused, and said."""

import gzip
import io
import json
import os
import random
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.base.errors import BundleRefusedError
from policies.bundle.format import MAX_BYTES, Bundle, read_bundle

MANIFEST = {"metadata": {"sallyport": {"format": 2, "rules": []}}}


def archive(path: Path, files: Mapping[str, bytes]) -> Path:
    """Write a `.tar.gz` with these files."""
    with tarfile.open(path, "w:gz") as out:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            out.addfile(entry, io.BytesIO(content))
    return path


def refusal(path: Path) -> str:
    """Return the message with which the bundle is refused."""
    with pytest.raises(BundleRefusedError) as refused:
        read_bundle(path)
    return str(refused.value)


def test_smallest_bundle_is_read(tmp_path: Path) -> None:
    """Policy and manifest are all that is demanded; Rego comes along for messages."""
    files = {
        "/policy.wasm": b"\0asm",
        "/.manifest": json.dumps(MANIFEST).encode(),
        "/a.rego": b"package a\xff",
        "/data.json": b"{}",
    }
    found = read_bundle(archive(tmp_path / "b", files))
    # `printf '\0asm{"format":2,"rules":[]}' | sha256sum`
    assert found == Bundle(b"\0asm", {}, {"a.rego": "package a\ufffd"}, "7bc5c4e94adf")


def test_missing_bundle_says_how_to_make_one(tmp_path: Path) -> None:
    """The path and the command."""
    path = tmp_path / "none.tar.gz"
    message = f"{path}: no such bundle; make it with 'sallyport policy build'"
    assert refusal(path) == message


@pytest.mark.parametrize("content", [b"", b"x", b"\x1f\x8b", gzip.compress(b"x" * 2000, mtime=0)])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    """Empty, text, half a header, or gzip of something else."""
    path = tmp_path / "b"
    path.write_bytes(content)
    assert refusal(path).startswith((f"{path}: cannot be read as a bundle: ", f"{path}: no policy"))


def test_folder_is_refused(tmp_path: Path) -> None:
    """A path that is no file is an error of ours, with the path."""
    assert refusal(tmp_path).startswith(f"{tmp_path}: cannot be read as a bundle: ")


@pytest.mark.parametrize("missing", ["policy.wasm", ".manifest"])
def test_archive_that_lacks_a_part_is_refused(tmp_path: Path, missing: str) -> None:
    """An OPA bundle of Rego alone, or one that Sallyport did not make."""
    files = {"policy.wasm": b"", ".manifest": json.dumps(MANIFEST).encode()}
    del files[missing]
    path = archive(tmp_path / "b", files)
    assert refusal(path) == f"{path}: no {missing} in it; make it with 'sallyport policy build'"


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"{",
        b"\xff",
        b"{}",
        b'{"metadata": {}}',
        b'{"metadata": {"sallyport": {"format": "1", "rules": []}}}',
        b'{"metadata": {"sallyport": {"format": 2, "rules": [{"id": "a"}]}}}',
        b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"roots": [""], "metadata": {"\xff": 1}}',
    ],
)
def test_manifest_of_another_shape_is_refused(tmp_path: Path, manifest: bytes) -> None:
    """The message names the manifest and the command that makes a right one."""
    path = archive(tmp_path / "b", {"policy.wasm": b"", ".manifest": manifest})
    message = refusal(path)
    assert message.startswith(f"{path}: .manifest: ")
    assert message.endswith("; make it with 'sallyport policy build'")


@pytest.mark.parametrize("version", [0, 1, 4, 99])
def test_other_format_is_refused(tmp_path: Path, version: int) -> None:
    """Both versions are named."""
    manifest = {"metadata": {"sallyport": {"format": version, "rules": []}}}
    files = {"policy.wasm": b"", ".manifest": json.dumps(manifest).encode()}
    path = archive(tmp_path / "b", files)
    assert refusal(path) == (
        f"{path}: format {version}; this release reads 2 and 3: make it again with "
        "'sallyport policy build'"
    )


def test_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    """The size on disk is looked at first."""
    path = tmp_path / "b"
    with path.open("wb") as out:
        out.truncate(MAX_BYTES + 1)
    assert refusal(path) == f"{path}: larger than 16 MiB"


@pytest.mark.parametrize("sizes", [[MAX_BYTES + 1], [MAX_BYTES // 2, MAX_BYTES // 2 + 1]])
def test_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, sizes: list[int]) -> None:
    """One large file or many: a bomb of a few KiB does not take the gate's memory."""
    files = {f"{number}.json": bytes(size) for number, size in enumerate(sizes)}
    path = archive(tmp_path / "b", files)
    assert path.stat().st_size < 64 * 1024
    assert refusal(path) == f"{path}: unpacks to more than 16 MiB"


LINKS = {
    "symlink to itself": (tarfile.SYMTYPE, "a"),
    "symlink to nothing": (tarfile.SYMTYPE, "nowhere"),
    "hard link to nothing": (tarfile.LNKTYPE, "nowhere"),
    "symlink out": (tarfile.SYMTYPE, "/etc/passwd"),
    "pipe": (tarfile.FIFOTYPE, ""),
    "device": (tarfile.CHRTYPE, ""),
    "sparse": (tarfile.GNUTYPE_SPARSE, ""),
}


@pytest.mark.parametrize("case", LINKS)
def test_what_is_neither_file_nor_folder_is_refused(tmp_path: Path, case: str) -> None:
    """A forged archive is not followed anywhere."""
    entry = tarfile.TarInfo("a")
    entry.type, entry.linkname = LINKS[case]
    path = tmp_path / "b"
    path.write_bytes(gzip.compress(entry.tobuf(tarfile.GNU_FORMAT) + bytes(1024)))
    message = f"{path}: cannot be read as a bundle: 'a' is neither a file nor a folder"
    assert refusal(path) == message


@pytest.mark.parametrize("size", [-1, 1, 2**60])
def test_entry_that_is_longer_than_the_archive_is_refused(tmp_path: Path, size: int) -> None:
    """Also one that would end before it begins."""
    entry = tarfile.TarInfo("a")
    entry.size = size
    path = tmp_path / "b"
    path.write_bytes(gzip.compress(entry.tobuf(tarfile.GNU_FORMAT)))
    assert refusal(path) == f"{path}: cannot be read as a bundle: 'a' does not end in it"


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_headers_count_to_what_is_unpacked(tmp_path: Path, kind: bytes) -> None:
    """400 MiB of name or comment in 400 KB: refused, and the process stays small."""
    size = 400 << 20
    entry = tarfile.TarInfo("././@LongLink")
    entry.type, entry.size = kind, size
    path = tmp_path / "b"
    with gzip.open(path, "wb", compresslevel=6) as out:
        out.write(entry.tobuf(tarfile.GNU_FORMAT))
        for _ in range(size >> 20):
            out.write(b"A" * (1 << 20))
    program = (
        "import pathlib, resource, sys\n"
        "from core.base.errors import BundleRefusedError\n"
        "from policies.bundle.format import read_bundle\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10\n"
        "before = peak()\n"
        "try:\n    read_bundle(pathlib.Path(sys.argv[1]))\n"
        "except BundleRefusedError as error:\n    print(peak() - before, error)\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    taken, _, message = done.stdout.partition(" ")
    assert message == f"{path}: unpacks to more than 16 MiB\n"
    assert int(taken) < 100


def test_pipe_is_refused(tmp_path: Path) -> None:
    """Nobody waits for who might write into it."""
    path = tmp_path / "b"
    os.mkfifo(path)
    assert refusal(path) == f"{path}: cannot be read as a bundle: not a regular file"


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32), cut=st.booleans(), unpacked=st.booleans())
def test_damaged_bundle_is_refused_or_whole(
    built: Path, tmp_path: Path, seed: int, *, cut: bool, unpacked: bool
) -> None:
    """Bits flipped in the archive, or in what it holds, are never another exception."""
    rng = random.Random(seed)  # noqa: S311 (must repeat, need not be secret)
    content = built.read_bytes()
    damaged = bytearray(gzip.decompress(content) if unpacked else content)
    for _ in range(rng.choice([1, 5, 50])):
        damaged[rng.randrange(rng.choice([2000, len(damaged)]))] ^= 1 << rng.randrange(8)
    if cut:
        del damaged[rng.randrange(len(damaged)) :]
    path = tmp_path / "damaged.tar.gz"
    path.write_bytes(gzip.compress(damaged, 1) if unpacked else damaged)
    try:
        bundle = read_bundle(path)
    except BundleRefusedError as error:
        assert str(error).startswith(f"{path}: ")  # noqa: PT017 (either end is right)
    else:
        # Some bits mean nothing (times, owners); the rest shows in the revision.
        whole = read_bundle(built)
        assert (bundle.revision == whole.revision) is (
            (bundle.wasm, bundle.rules) == (whole.wasm, whole.rules)
        )


def test_a_rule_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """One would stand in for the other: with no points, or as a warning."""
    fields = ("id", "title", "description", "message", "remedy")
    rule = {"since": 1} | dict.fromkeys(fields, "sandbox/actor/entered")
    rules = [rule, rule | {"points": 20}]
    manifest = {"metadata": {"sallyport": {"format": 2, "rules": rules}}}
    files = {"policy.wasm": b"", ".manifest": json.dumps(manifest).encode()}
    path = archive(tmp_path / "b", files)
    assert refusal(path) == (
        f"{path}: .manifest: the rule sandbox/actor/entered is in it twice; "
        "make it with 'sallyport policy build'"
    )
