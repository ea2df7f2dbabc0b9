"""Says which rules a case is about: those beside its folder of cases, and below."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from policies.authoring.cases import text_of
from policies.authoring.workspace import SITE_FILES, TEST_SUFFIX
from policies.bundle.format import Bundle

_PACKAGE: Final = re.compile(
    r"^package sallyport\.((?:rules|sandbox)\.\w+\.\w+)\s*(?:#.*)?$", re.MULTILINE
)

_NOT_BUILT_IN: Final = (SITE_FILES, "rego/library/")


def files_of_rules(bundle: Bundle) -> dict[str, PurePosixPath]:
    """Give the file of each rule and signal that is no built-in one, by its id.

    Of several files it is the first.
    """
    found: dict[str, PurePosixPath] = {}
    for path, text in sorted(bundle.sources.items()):
        if path.startswith(_NOT_BUILT_IN) and (package := _PACKAGE.search(text)):
            found.setdefault(package[1].replace(".", "/"), PurePosixPath(path))
    return found


def rules_beside(folder: Path) -> list[str]:
    """Give the ids of the rules of a folder, `rules/labels/team`: those of its Rego but the tests.

    Raises:
        BundleRefusedError: a file cannot be read.
    """
    files = [path for path in folder.glob("*.rego") if not path.stem.endswith(TEST_SUFFIX)]
    packages = [each[1] for path in files if (each := _PACKAGE.search(text_of(path)))]
    return sorted({each.replace(".", "/") for each in packages if each.startswith("rules.")})


def others(
    about: Path, sites: Sequence[Path], files: Mapping[str, PurePosixPath]
) -> frozenset[str]:
    """Give the rules and signals that a case of the folder `about` says nothing about.

    A case in `labels/team/cases` is about the rules in `labels/team` and below; where there is
    none, about those of the folder above; one in the `cases` of the whole folder about all, those
    that are chosen of the library among them.
    """
    site = next((each for each in sites if about.resolve().is_relative_to(each.resolve())), None)
    if site is None:
        return frozenset()
    root = PurePosixPath(SITE_FILES) / site.resolve().name
    folder = root / about.resolve().relative_to(site.resolve()).as_posix()
    while folder != root and not any(each.is_relative_to(folder) for each in files.values()):
        folder = folder.parent
    if folder == root:
        return frozenset()
    return frozenset(rule for rule, file in files.items() if not file.is_relative_to(folder))
