"""A site's folders staged beside the built-in Rego, with their tests, as OPA is run on them."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.base.errors import BundleRefusedError
from policies import BUILT_IN_REGO, LIBRARY
from policies.build.builder import pack, stage_built_in, stage_own
from policies.bundle.format import Bundle, Rule, read_bundle
from policies.site.choices import NO_CHOICES, Choices

_LONGEST_S: Final = 600.0
"""Of one run: longer than the tests of a thousand rules."""

TEST_SUFFIX: Final = "_test"
"""Of the name of a file of Rego tests, before `.rego`."""

SITE_FILES: Final = "rego/site/"
"""Where the files of sites lie in a workspace, each below its folder's name."""


@dataclass(frozen=True)
class ProgramResult:
    """How a program ended."""

    code: int
    out: bytes
    err: str

    @property
    def said(self) -> str:
        """What it says to people."""
        return (self.err or self.out.decode(errors="replace")).strip()


def run_program(program: Path, folder: Path, *arguments: str, stdin: bytes = b"") -> ProgramResult:
    """Run a program in a folder.

    Raises:
        BundleRefusedError: it cannot be run, or takes longer than ten minutes.
    """
    command = [str(program.resolve()), *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, input=stdin, capture_output=True, check=False, timeout=_LONGEST_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BundleRefusedError(f"{program.name} {arguments[0]}: {error}") from error
    return ProgramResult(done.returncode, done.stdout, done.stderr.decode(errors="replace"))


@dataclass(frozen=True)
class WorkspacePaths:
    """Knows which file of an author is meant by a path of a workspace."""

    sites: tuple[Path, ...]

    def named(self, text: str) -> str:
        """Return a text in which paths of the workspace are those that the author knows."""
        for site in self.sites:
            staged = re.escape(f"{SITE_FILES}{site.resolve().name}/")
            shown = f"{site}/" if str(site) != "." else ""
            text = re.sub(staged, lambda _, shown=shown: shown, text)  # type: ignore[misc]
        return text.replace("rego/library/", f"{LIBRARY}/")


@dataclass(frozen=True)
class Workspace:
    """A folder with `rego/` (built-in policies, sites, their tests) and `schema/`."""

    opa: Path
    folder: Path
    places: WorkspacePaths
    bundle: Bundle
    """What a gate would put in force."""

    @property
    def rules(self) -> list[Rule]:
        """The rules and signals of the sites, and those chosen of the library."""
        return [rule for rule in self.bundle.rules.values() if rule.site]


@contextmanager
def open_workspace(
    opa: Path, sites: Sequence[Path], choices: Choices = NO_CHOICES
) -> Iterator[Workspace]:
    """Stage the sites, check and compile them; the folder is gone at the end.

    Raises:
        BundleRefusedError: they are no bundle; the message has the author's file and line.
    """
    places = WorkspacePaths(tuple(sites))
    with tempfile.TemporaryDirectory(prefix="sallyport-author-") as scratch:
        staged = Path(scratch)
        try:
            bundle = _compiled(opa, staged, sites, choices)
        except BundleRefusedError as error:
            raise BundleRefusedError(places.named(str(error))) from error
        for site in sites:
            copy_tests(site, staged)
        yield Workspace(opa, staged, places, bundle)


def _compiled(opa: Path, staged: Path, sites: Sequence[Path], choices: Choices) -> Bundle:
    stage_built_in(BUILT_IN_REGO, staged / "rego")
    own = stage_own(opa, staged, sites, choices, BUILT_IN_REGO / "schema")
    archive = staged / "bundle.tar.gz"
    archive.write_bytes(pack(opa, staged, own))
    return read_bundle(archive)


def copy_tests(site: Path, staged: Path) -> None:
    """Put the tests of a site beside its rules."""
    for path in sorted(site.rglob(f"*{TEST_SUFFIX}.rego")):
        copy = staged / SITE_FILES / site.resolve().name / path.relative_to(site)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
