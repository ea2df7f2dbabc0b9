"""Compile the Python files below a folder and pack it as a layer; run by the image's own Python.

    python3.11 pack.py FOLDER LAYER

Standard library only: nothing else is there. Prints the layer's digests as JSON. Nothing in it
depends on the time, the machine, or where the folder lies.
"""

import gzip
import hashlib
import json
import py_compile
import stat
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

MTIME = 315532800
"""1980-01-01: the first time that a zip file can say too. The same for each file, so that a
layer whose files are the same is the same."""


def compile_all(folder: Path) -> None:
    """Write the byte code beside each source, to be used without looking at the source.

    PEP 552: "unchecked" byte code holds no time, and a start does not ask for it.
    """
    for source in sorted(folder.rglob("*.py")):
        inside = f"/{source.relative_to(folder)}"
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        try:
            py_compile.compile(str(source), dfile=inside, doraise=True, invalidation_mode=mode)
        except py_compile.PyCompileError:
            # Templates and samples among the packages' files.
            continue


def entries(folder: Path) -> Iterator[tuple[tarfile.TarInfo, Path]]:
    """Yield what is below a folder, by name, owned by root, writable by its owner alone."""
    for path in sorted(folder.rglob("*")):
        info = tarfile.TarInfo(str(path.relative_to(folder)))
        info.mtime = MTIME
        if path.is_symlink():
            info.type, info.linkname, info.mode = tarfile.SYMTYPE, str(path.readlink()), 0o777
        elif path.is_dir():
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if info.name == "tmp" else 0o755
        else:
            info.size = path.stat().st_size
            info.mode = 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644
        yield info, path


def pack(folder: Path, layer: Path) -> dict[str, object]:
    """Write the layer; return what a manifest and a config say of it."""
    plain = layer.with_suffix(".plain")
    with tarfile.open(plain, "w", format=tarfile.PAX_FORMAT) as tar:
        for info, path in entries(folder):
            if info.isreg():
                with path.open("rb") as file:
                    tar.addfile(info, file)
            else:
                tar.addfile(info)
    content = plain.read_bytes()
    plain.unlink()
    packed = gzip.compress(content, compresslevel=6, mtime=0)
    layer.write_bytes(packed)
    return {
        "digest": f"sha256:{hashlib.sha256(packed).hexdigest()}",
        "size": len(packed),
        "diff_id": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "unpacked": len(content),
    }


def main() -> None:
    """Pack the folder that the command line names."""
    folder, layer = map(Path, sys.argv[1:])
    compile_all(folder)
    sys.stdout.write(json.dumps(pack(folder, layer)))


if __name__ == "__main__":
    main()
