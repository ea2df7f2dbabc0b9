"""What is said of a program that Sallyport is tested or built with."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Patch:
    """One text of one source file, replaced while the program is built; never in the module."""

    file: str
    """From the module's root."""
    old: str
    """There exactly once."""
    new: str


@dataclass(frozen=True)
class Program:
    """Where a program comes from, and which of its versions will do.

    Versions are (major, minor); `newest` is None where any later one will do.
    """

    name: str
    module: str
    package: str
    environment: str
    """Empty for one that does not say its version: it is always built."""
    environment_is_folder: bool
    version_arguments: tuple[str, ...]
    oldest: tuple[int, int]
    newest: tuple[int, int] | None
    linker_flags: str
    minutes: int
    folder: str = ""
    """Of its `go.mod` beside this file; empty where it has the program's name."""
    build_flags: tuple[str, ...] = ()
    static: bool = False
    """Built without cgo, so that it needs no library."""
    without_resource_capability: Patch | None = None
    """What it needs changed where even root lacks CAP_SYS_RESOURCE."""
    patches: tuple[Patch, ...] = ()
    """What it needs changed everywhere."""
    is_tested_with: bool = True
    """False for one that only `make proof` or `make bench` needs."""

    def suits(self, version: tuple[int, int]) -> bool:
        """Return whether a program of this version may be used."""
        return self.oldest <= version and (self.newest is None or version <= self.newest)

    def wanted(self) -> str:
        """Name the versions that will do, for messages."""
        oldest = "{}.{}".format(*self.oldest)
        return oldest if self.oldest == self.newest else f"{oldest} or newer"
