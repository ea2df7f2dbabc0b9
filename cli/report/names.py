"""Names of ids that an operator gives with `sallyport report --names`; nothing keeps them."""

import csv
import re
from pathlib import Path
from typing import Final

from core.base.errors import SettingsError

_OBJECT_ID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LABEL: Final = re.compile(r"(oid|client|user|group):\S+")
_MOST_NAME: Final = 200
_COLUMNS: Final = 2


def read_names(path: Path | None) -> dict[str, str]:
    """Read names by label; a bare object id is one of a person or service principal.

    Raises:
        SettingsError: it is no such file; the message names the line.
    """
    if path is None:
        return {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return dict(_read(path, list(csv.reader(file))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(f"--names {path}: is no CSV in UTF-8: {error}") from None


def _read(path: Path, rows: list[list[str]]) -> list[tuple[str, str]]:
    names = []
    for number, row in enumerate(rows, 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and cells[0].lower() in {"id", "oid", "object id"}):
            continue
        if len(cells) != _COLUMNS or not all(cells):
            raise SettingsError(f"--names {path}: line {number}: give an id, a comma, a name")
        label = f"oid:{cells[0].lower()}" if _OBJECT_ID.fullmatch(cells[0]) else cells[0]
        if not _LABEL.fullmatch(label):
            raise SettingsError(f"--names {path}: line {number}: give an object id, or oid:…")
        names.append((label, cells[1][:_MOST_NAME]))
    return names
