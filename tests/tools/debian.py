"""Fetch Debian's packages and unpack them into a folder: nothing is installed on the machine."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.tools.provide import CannotProvideError, cache_folder, locked

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "node-packages": ("busybox-static", "containernetworking-plugins", "runc"),
        "firewall-packages": tuple(
            "conntrack ipset iptables libip4tc2 libip6tc2 libipset13 libmnl0 "
            "libnetfilter-conntrack3 libnfnetlink0 libnftnl11 libxtables12".split()
        ),
        "syslog-packages": (
            "libestr0",
            "libfastjson4",
            "liblognorm5",
            "rsyslog",
            "rsyslog-openssl",
        ),
    }
)
"""What is unpacked into one folder each, by the name of that folder."""


def packages_folder(name: str) -> Path:
    """Return the folder of the cache into which packages of `PACKAGES` are unpacked, or will be."""
    return cache_folder() / name / "root"


def provide_packages(name: str) -> Path:
    """Return the folder into which these packages of `PACKAGES` are unpacked, once.

    Raises:
        CannotProvideError: there is no apt here, or it does not find one of them.
    """
    root, packages = packages_folder(name), PACKAGES[name]
    cache = root.parent
    if not root.exists():
        if not all(map(shutil.which, ("apt-get", "dpkg"))):
            raise CannotProvideError(
                f"{', '.join(packages)} are fetched from Debian, which this machine is not: run "
                "these tests on Debian or its kin, or in a container of it"
            )
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache / "lock"):
            if not root.exists():
                _provide_into(cache, root, set(packages))
    return root


def _provide_into(cache: Path, root: Path, packages: set[str]) -> None:
    say(f"fetching {', '.join(sorted(packages))} from Debian, once")
    with tempfile.TemporaryDirectory(dir=cache) as work:
        made = Path(work) / "root"
        fetch_first(packages, Path(work), made)
        made.rename(root)


def fetch_first(packages: Iterable[str], work: Path, root: Path) -> list[str]:
    """Unpack packages into `root`; return the options that apt needs to find more."""
    try:
        fetch(packages, [], work, root)
    except CannotProvideError:  # There are no lists of packages, or they are old.
        lists = work / "lists"
        (lists / "partial").mkdir(parents=True)
        options = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={lists}"]
        run(["apt-get", *options, "update"])
        fetch(packages, options, work, root)
        return options
    return []


def fetch(packages: Iterable[str], options: Sequence[str], work: Path, root: Path) -> None:
    """Download packages below `work` and unpack them into `root`."""
    folder = Path(tempfile.mkdtemp(dir=work))
    run(["apt-get", *options, "download", *sorted(packages)], folder)
    for package in folder.glob("*.deb"):
        run(["dpkg", "-x", package, root])


def run(
    command: Sequence[str | Path],
    folder: Path | None = None,
    environment: dict[str, str] | None = None,
) -> str:
    """Run a program and return what it printed.

    Raises:
        CannotProvideError: it failed; with what it said.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "LC_ALL": "C", **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise CannotProvideError(
            f"{' '.join(map(str, command[:2]))} failed: {(done.stderr or done.stdout).strip()}"
        )
    return done.stdout


def say(message: str) -> None:
    """Tell whoever waits; stdout is for the path alone."""
    sys.stderr.write(f"{message}\n")
