"""The pages of the profiles in docs/profiles, read as what they claim."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from policies import SHIPPED_PROFILES

ROOT: Final = Path(__file__).parents[4]
PAGES: Final = ROOT / "docs" / "profiles"

RECOMMENDED: Final = tuple(
    sorted(
        path.stem
        for path in SHIPPED_PROFILES.glob("*.yaml")
        if not path.stem.startswith("pss-") and not path.stem.endswith("-grant")
    )
)
"""The shipped profiles but those that are Pod Security's levels."""

_CODE: Final = re.compile(r"`` (?P<double>.+?) ``|``(?P<tight>.+?) ``|`(?P<single>[^`]+)`")


@dataclass(frozen=True)
class Page:
    """What a page says, by its sections."""

    argued: frozenset[str]
    """Privileges that "Why each line" gives reasons for."""
    refused: frozenset[str]
    """Patterns of what it still refuses."""
    tried: dict[str, tuple[str, ...]]
    """Example, to the changes without which it is refused."""
    grants: tuple[dict[str, Any], ...]
    """The objects of its RBAC snippet."""


def read_page(name: str) -> Page:
    """Read the page of a profile.

    Raises:
        KeyError: it lacks a section.
    """
    sections = _sections((PAGES / f"{name}.md").read_text())
    snippets = re.findall(r"```yaml\n(.*?)```", sections["Who should get it"], re.DOTALL)
    return Page(
        frozenset(code for row in _rows(sections["Why each line"]) for code in codes(row[0])),
        frozenset(
            code for row in _rows(sections["What it still refuses"]) for code in codes(row[0])
        ),
        {codes(row[0])[0]: tuple(codes(row[1])) for row in _rows(sections.get("Tried on", ""))},
        tuple(item for text in snippets for item in yaml.safe_load_all(text)),
    )


def codes(text: str) -> list[str]:
    """Return what stands in code in a text.

    Between backticks, or two where it holds some itself.
    """
    return [
        next(group for group in match.groups() if group is not None)
        for match in _CODE.finditer(text)
    ]


def _sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _rows(section: str) -> list[list[str]]:
    """Return the cells of a table's rows, without its head."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
