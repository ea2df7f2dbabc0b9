"""Writes what was carried over: Rego into the folder of a site, choices into its rules file."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
import yaml

from core.base.errors import SettingsError
from core.base.whole_files import write_whole
from policies.gatekeeper_import.adapter import CATEGORY
from policies.gatekeeper_import.importer import ConvertedRules
from policies.site.choices import Choice, read_choices

_COMMENT: Final = re.compile(r"^\s*#|\s#", re.MULTILINE)
_HEAD: Final = "# Which rules hold where, what they do, and their parameters.\n"


def check_room(into: Path, rules_file: Path, *, replace: bool) -> None:
    """Demand that nothing is lost by writing.

    Raises:
        SettingsError: something is; says what to do.
    """
    if (into / CATEGORY).exists() and not replace:
        raise SettingsError(
            f"--into: {into / CATEGORY} is there already: give --replace to write it anew"
        )
    if into.exists() and not into.is_dir():
        raise SettingsError(f"--into: {into} is no folder")
    if rules_file.exists():
        text = rules_file.read_text()
        if _COMMENT.search(text.removeprefix(_HEAD)):
            raise SettingsError(
                f"--rules: {rules_file} has comments, which would be lost: give another file, and "
                "join the two by hand"
            )


def write(carried: ConvertedRules, into: Path, rules_file: Path) -> None:
    """Write the folder's `gatekeeper` anew, and the rules file with all else that it says.

    Raises:
        SettingsError: a file cannot be written.
        BundleRefusedError: the rules file that is there is none.
    """
    choices: dict[str, Choice] = {}
    if rules_file.exists():
        choices = {
            name: choice
            for name, choice in read_choices(rules_file).rules.items()
            if not name.startswith(f"{CATEGORY}/")
        }
    try:
        _write(carried, into, rules_file, choices | carried.choices)
    except OSError as error:
        raise SettingsError(f"{error.filename}: cannot be written: {error.strerror}") from error


def _write(
    carried: ConvertedRules, into: Path, rules_file: Path, choices: Mapping[str, Choice]
) -> None:
    if (into / CATEGORY).exists():
        shutil.rmtree(into / CATEGORY)
    for name, text in sorted(carried.files.items()):
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    said = {"rules": {name: _said(each) for name, each in sorted(choices.items())}}
    text = _HEAD + yaml.safe_dump(said, sort_keys=False, allow_unicode=True)
    write_whole(rules_file, text.encode(), make_folder=True)


def _said(choice: Choice) -> dict[str, object]:
    return {key: each for key, each in msgspec.to_builtins(choice).items() if each}
