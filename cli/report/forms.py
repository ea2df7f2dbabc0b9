"""The forms of a report, by the words of `--format`."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Final, NamedTuple

import msgspec
import yaml

from audit.reports.builder import canonical_json
from audit.reports.forms.ocsf import render_ocsf
from audit.reports.forms.oscal import render_oscal
from audit.reports.forms.tables import render_tables
from audit.reports.html import render_html
from audit.reports.model import Report
from audit.reports.pdf import render_pdf
from cli.report.openreports import openreports
from cli.report.report_sarif import sarif
from core.base.errors import SettingsError


class Form(NamedTuple):
    """How one is made, and how its file's name ends."""

    make: Callable[[Report], bytes]
    suffix: str


def _yaml(report: Report) -> bytes:
    text: str = yaml.safe_dump_all(openreports(report), sort_keys=False, allow_unicode=True)
    return text.encode()


def _sarif(report: Report) -> bytes:
    log = sarif(report, version("sallyport"))
    return msgspec.json.format(msgspec.json.encode(log), indent=1) + b"\n"


FORMS: Final = {
    "html": Form(lambda report: render_html(report).encode(), ".html"),
    "pdf": Form(render_pdf, ".pdf"),
    "csv": Form(render_tables, ".csv.zip"),
    "json": Form(canonical_json, ".json"),
    "oscal": Form(render_oscal, ".oscal.json"),
    "ocsf": Form(render_ocsf, ".ocsf.jsonl"),
    "sarif": Form(_sarif, ".sarif"),
    "openreports": Form(_yaml, ".openreports.yaml"),
}


def parse_forms(text: str) -> list[str]:
    """Read the words of `--format`.

    Raises:
        SettingsError: one of them is no form.
    """
    words = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if unknown := [word for word in words if word not in FORMS]:
        raise SettingsError(f"--format {unknown[0]}: give some of {', '.join(FORMS)}")
    if not words:
        raise SettingsError(f"--format: give some of {', '.join(FORMS)}")
    return words
