"""The folders of the image: what Debian's packages hold, without what nobody uses there."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from deploy.image.debian import Package
from tests.tools.debian import run
from tests.tools.provide import CannotProvideError

USER: Final = 65532
LIBRARIES: Final = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")

_UNUSED: Final = (
    # Programs and their settings: there is no shell that would run them.
    *("bin", "sbin", "usr/sbin", "usr/bin/locale-check", "etc/update-motd.d", "etc/profile.d"),
    *("etc/skel", "etc/default", "etc/dpkg", "usr/share/dpkg", "usr/share/base-files"),
    # Documentation; the copyrights stay.
    *("usr/share/man", "usr/share/info", "usr/share/lintian", "usr/share/bug", "usr/share/gdb"),
    *("usr/share/doc-base", "usr/share/gcc", "usr/share/xml", "usr/share/binfmts"),
    *("usr/share/glib-2.0", "usr/share/locale", "usr/share/dict", "usr/share/misc"),
    # Of a machine that starts, and is used by people.
    *("boot", "home", "media", "mnt", "opt", "srv", "usr/games", "usr/src", "usr/include"),
    *("var/backups", "var/local", "var/mail", "var/spool", "var/opt", "usr/local"),
)
_DYNLOAD: Final = "usr/lib/python3.11/lib-dynload"
_WITHOUT_THEIR_LIBRARY: Final = [
    "_curses",
    "_curses_panel",
    "_dbm",
    "nis",
    "ossaudiodev",
    "readline",
]
"""Modules for terminals and old databases; the libraries that they need are not in the image."""

_FILES: Final = {
    "etc/passwd": f"root:x:0:0:root:/root:/nonexistent\n"
    f"sallyport:x:{USER}:{USER}:sallyport:/tmp:/nonexistent\n",
    "etc/group": f"root:x:0:\nsallyport:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n",
}
_PROGRAM: Final = """#!/usr/bin/python3.11 -IB
import sys

from cli.{module} import main

sys.exit(main())
"""
PROGRAMS: Final = {"sallyport": "main", "kubectl-sallyport": "kubectl"}


def unpack_debian(packages: Sequence[Package], files: Sequence[Path], root: Path) -> None:
    """Make the root folder of these packages, whose files these are.

    Their scripts do not run; what they would have made, and is needed, is made here.
    """
    for file in files:
        run(["dpkg-deb", "--extract", file, root])
    for unused in _UNUSED:
        _remove(root / unused)
    for page in (root / "usr/share/doc").rglob("*"):
        if not page.is_dir() and page.name != "copyright":
            page.unlink()
    for name in _WITHOUT_THEIR_LIBRARY:
        for module in (root / _DYNLOAD).glob(f"{name}*.so"):
            module.unlink()
    _remove_empty(root / "usr/share/doc")
    for name, content in _FILES.items():
        (root / name).write_text(content)
    _trust(root)
    _note_packages(packages, files, root)


def write_programs(root: Path) -> None:
    """Write the commands; Python there heeds no variable and no folder but its own."""
    folder = root / "usr/local/bin"
    folder.mkdir(parents=True)
    for name, module in PROGRAMS.items():
        path = folder / name
        path.write_text(_PROGRAM.format(module=module))
        path.chmod(0o755)


def _trust(root: Path) -> None:
    """Write the authorities that Mozilla trusts where OpenSSL looks, as update-ca-certificates."""
    authorities = sorted((root / "usr/share/ca-certificates/mozilla").glob("*.crt"))
    folder = root / "etc/ssl/certs"
    folder.mkdir(parents=True, exist_ok=True)
    bundle = folder / "ca-certificates.crt"
    bundle.write_text("".join(each.read_text() for each in authorities))
    # OpenSSL's own folder, which its program's package would make.
    own = root / "usr/lib/ssl"
    own.mkdir(parents=True)
    (own / "certs").symlink_to("/etc/ssl/certs")
    (own / "cert.pem").symlink_to("/etc/ssl/certs/ca-certificates.crt")


def _note_packages(packages: Sequence[Package], files: Sequence[Path], root: Path) -> None:
    """Say what is installed, where scanners of vulnerabilities look in images without dpkg."""
    folder = root / "var/lib/dpkg/status.d"
    folder.mkdir(parents=True)
    for package, file in zip(packages, files, strict=True):
        said = run(["dpkg-deb", "--field", file])
        (folder / package.name).write_text(f"{said.strip()}\nStatus: install ok installed\n\n")


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def _remove_empty(folder: Path) -> None:
    for each, _, _ in os.walk(folder, topdown=False):
        if not any(Path(each).iterdir()):
            Path(each).rmdir()


def python_of(root: Path) -> list[str | Path]:
    """Return what runs the image's own Python on this machine, without a container.

    So what it writes depends on no Python and no zlib of the machine.
    """
    (loader,) = root.glob("lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    libraries = ":".join(str(root / each) for each in LIBRARIES)
    python = root / "usr/bin/python3.11"
    return ["env", f"PYTHONHOME={root / 'usr'}", loader, "--library-path", libraries, python, "-SB"]


def run_with(python: Sequence[str | Path], script: Path, *arguments: str | Path) -> bytes:
    """Run a script with the image's own Python; return what it printed.

    Raises:
        CannotProvideError: it failed, or this machine cannot run it; with what was said.
    """
    done = subprocess.run(
        [*python, script, *arguments],
        env={"PATH": os.defpath, "PYTHONHASHSEED": "0"},
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise CannotProvideError(f"{script.name}: {said} (the image is made on Linux on x86-64)")
    return done.stdout
