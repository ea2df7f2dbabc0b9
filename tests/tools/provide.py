"""Provide a program that Sallyport is tested or built with, building it once if need be.

    python tests/tools/provide.py PROGRAM

prints the path of a program of the table in `programs.py`. It is taken from the environment,
else from a cache outside the repository, else from PATH, else built from the `go.mod` beside this
file into that cache. Needs nothing but Python's standard library, since the Makefile runs it before
there is a virtual environment.
"""

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.tools.program import Patch, Program
from tests.tools.programs import PROGRAMS

HERE: Final = Path(__file__).resolve().parent
VERSION_TIMEOUT_S: Final = 30
_TRIES: Final = 3
_SHOWN_LINES: Final = 20
_CAP_SYS_RESOURCE: Final = 24  # linux/capability.h


class CannotProvideError(Exception):
    """A program cannot be had; the message says why and what to do."""


def provide(name: str) -> Path:
    """Return the absolute path of a program of the table `PROGRAMS`, building it if need be.

    Raises:
        CannotProvideError: the environment names one that will not do, or it cannot be built.
    """
    program = PROGRAMS[name]
    if is_cached(program):
        return _cached(program)
    if not program.environment:
        return _built(program)
    return _from_environment(program) or _from_path(program) or _built(program)


def is_cached(program: Program) -> bool:
    """Return whether a program is in the cache and the environment names no other."""
    return not os.environ.get(program.environment) and _cached(program).exists()


def _from_environment(program: Program) -> Path | None:
    """Return the one that the environment names; it must do, since someone asked for it."""
    value = os.environ.get(program.environment)
    if not value:
        return None
    path = Path(value).absolute()
    if program.environment_is_folder:
        path /= program.name
    version = _version(program, path)
    if version is None or not program.suits(version):
        found = "no such program" if version is None else "version {}.{}".format(*version)
        raise CannotProvideError(
            f"{program.environment}={value}: {path}: {found}, but {program.name} "
            f"{program.wanted()} is needed: correct {program.environment}, or unset it and "
            "the program is built from its Go module",
        )
    return path


def _from_path(program: Program) -> Path | None:
    """Return the one on PATH if its version will do; another version is passed over, aloud."""
    found = shutil.which(program.name)
    if found is None:
        return None
    version = _version(program, Path(found))
    if version is not None and program.suits(version):
        return Path(found).absolute()
    _say(f"{found} is not used: {program.name} {program.wanted()} is needed")
    return None


def _version(program: Program, path: Path) -> tuple[int, int] | None:
    """Ask the program at `path` for its version; None if it does not run or does not say."""
    try:
        output = subprocess.run(
            [path, *program.version_arguments],
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"(\d+)\.(\d+)\.\d+", output)
    return (int(match[1]), int(match[2])) if match else None


def _built(program: Program) -> Path:
    """Return the one in the cache; build it first unless another caller did meanwhile."""
    path = _cached(program)
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.with_name("lock")):
        if not path.exists():
            _build(program, path)
    return path


def _cached(program: Program) -> Path:
    """Return where the cache has it, or will."""
    return cache_folder() / f"{program.name}-{_key(program)}" / program.name


def cache_folder() -> Path:
    """Return the folder of what is built or fetched, outside the repository."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "sallyport" / "tools"


def _key(program: Program) -> str:
    """Name what the build depends on: the module's version, dependencies, own source, flags."""
    digest = hashlib.sha256(program.linker_flags.encode())
    source = _source(program)
    for file in (source / "go.mod", source / "go.sum", *sorted(source.glob("*.go"))):
        digest.update(file.read_bytes())
    digest.update("".join(program.build_flags).encode())
    for patch in needed_patches(program):
        digest.update(repr(patch).encode())
    return f"{_module_version(program)}-{digest.hexdigest()[:12]}"


def _source(program: Program) -> Path:
    """Return the folder of its `go.mod`."""
    return HERE / (program.folder or program.name)


def _module_version(program: Program) -> str:
    return pinned_version(_source(program), program.module)


def pinned_version(folder: Path, module: str) -> str:
    """Read from the `go.mod` of a folder the version of a module, as `v1.36.3`.

    That of its `replace`, where it has one.

    Raises:
        CannotProvideError: it does not require the module.
    """
    go_mod = folder / "go.mod"
    named, text = re.escape(module), go_mod.read_text()
    required = re.search(rf"^\s*(?:require )?{named} (v\S+)", text, re.MULTILINE)
    match = (
        re.search(rf"^\s*(?:replace )?{named} => {named} (v\S+)", text, re.MULTILINE) or required
    )
    if match is None:
        raise CannotProvideError(f"{go_mod}: {module} is not required; restore the file")
    return match[1]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the file lock at `path`, waiting for whoever else builds the same program."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(program: Program, path: Path) -> None:
    """Build the program with Go and put it at `path` in one step."""
    go = shutil.which("go")
    if go is None:
        raise CannotProvideError(
            f"{program.name} must be built from its Go module, and Go is missing: install "
            f"Go 1.26 or newer (https://go.dev/dl/){_otherwise(program)}",
        )
    version = _module_version(program)
    _say(
        f"building {program.name} {version} from its Go module, once, "
        f"about {program.minutes} minute{'s' if program.minutes > 1 else ''}",
    )
    with tempfile.TemporaryDirectory(dir=path.parent) as work:
        built = Path(work) / program.name
        flags = _linker_flags(program, version)
        arguments = ["-mod=readonly", "-ldflags", flags, "-o", str(built), *program.build_flags]
        patches = needed_patches(program)
        if patches:
            arguments.append(f"-modfile={_patched(go, program, patches, Path(work))}")
        for _ in range(_TRIES):  # A module that did not arrive may arrive the next time.
            done = subprocess.run(
                [go, "build", *arguments, program.package],
                cwd=_source(program),
                env={**os.environ, "CGO_ENABLED": "0"} if program.static else None,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if done.returncode <= 0:  # Negative: somebody stopped it.
                break
        if done.returncode != 0:
            raise CannotProvideError(
                f"go build of {program.package} {version} failed (exit {done.returncode}), most "
                "often since the Go module proxy cannot be reached (see `go env GOPROXY`)"
                f"{_otherwise(program)}; its output ends with:\n{_end(done.stdout)}",
            )
        built.replace(path)


def needed_patches(program: Program) -> tuple[Patch, ...]:
    """Return the patches that this program needs on this machine; most need none."""
    patch = program.without_resource_capability
    return program.patches if _may_raise_limits() or patch is None else (*program.patches, patch)


def _may_raise_limits() -> bool:
    """Return whether root has CAP_SYS_RESOURCE here; yes where Linux does not say."""
    status = Path("/proc/self/status")
    found = status.exists() and re.search(r"^CapBnd:\s*(\w+)$", status.read_text(), re.MULTILINE)
    return not found or bool(int(found[1], 16) >> _CAP_SYS_RESOURCE & 1)


def _patched(go: str, program: Program, patches: Iterable[Patch], work: Path) -> Path:
    """Write a `go.mod` (and `go.sum`) that takes the module from a changed copy in `work`."""
    copy, source = work / "module", _source(program)
    # The files of the module cache cannot be written to; their copies must be.
    shutil.copytree(_module_folder(go, program), copy, copy_function=shutil.copyfile)
    for patch in patches:
        changed = copy / patch.file
        text = changed.read_text()
        if text.count(patch.old) != 1:
            raise CannotProvideError(
                f"{patch.file} of {program.module} does not hold {patch.old!r} once: correct the "
                f"patch of {program.name} in tests/tools/programs.py"
            )
        changed.write_text(text.replace(patch.old, patch.new))
    go_mod = work / "go.mod"
    replace = f"\nreplace {program.module} => {copy}\n"
    go_mod.write_text((source / "go.mod").read_text() + replace)
    shutil.copyfile(source / "go.sum", work / "go.sum")
    return go_mod


def _module_folder(go: str, program: Program) -> Path:
    """Download the program's module and return its folder."""
    done = subprocess.run(
        [go, "mod", "download", "-json", program.module],
        cwd=_source(program),
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout or "{}")
    if "Dir" not in found:
        why = found.get("Error") or done.stderr.strip()
        raise CannotProvideError(f"{program.module} cannot be had: {why}: see `go env GOPROXY`")
    return Path(found["Dir"])


def _otherwise(program: Program) -> str:
    """Say how a program may be had without building it, if it may."""
    if not program.environment:
        return ""
    wanted = f"{program.name} {program.wanted()}"
    return f", or put {wanted} on PATH, or set {program.environment} to a program you have"


def _linker_flags(program: Program, version: str) -> str:
    major, minor, _ = version.removeprefix("v").split(".", 2)
    return program.linker_flags.format(gitVersion=version, gitMajor=major, gitMinor=minor)


def _end(output: str) -> str:
    return "\n".join(output.splitlines()[-_SHOWN_LINES:])


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")  # In one piece: others build beside it.


def main() -> int:
    """Print the path of the program that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("program", choices=sorted(PROGRAMS))
    name = parser.parse_args().program
    try:
        path = provide(name)
    except CannotProvideError as error:
        _say(f"provide.py: {error}")
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
