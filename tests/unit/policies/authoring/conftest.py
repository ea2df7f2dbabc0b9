"""Folders of rules, as authors have them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

HEAD: Final = """\
# METADATA
# scope: package
# title: A rule
# description: Of the tests.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: has {{value}}
#   remedy: {remedy}
#   kinds: [Pod]
#   fields: [{fields}]
{more}package sallyport.rules.{rule}
"""


def rego(
    rule: str,
    body: str,
    *,
    fields: str = "metadata.labels",
    remedy: str = "Set it.",
    more: str = "",
) -> str:
    """Return the file of a rule, `labels.team`."""
    head = HEAD.format(rule=rule, fields=fields, remedy=remedy, more=more)
    return f"{head}\n{body}"


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder; gives the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
