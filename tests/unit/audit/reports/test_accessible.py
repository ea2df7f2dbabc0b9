"""A report is readable by eye and by ear: contrast, captions, a tagged PDF."""

import asyncio
import re
import zlib
from itertools import product
from pathlib import Path

import pytest

from audit.reports.html import render_html
from audit.reports.model import Report
from audit.reports.page_templates import style
from audit.reports.pdf import render_pdf
from tests.unit.audit.reports.records import report_of, something_of_everything

TEXTS = ("ink", "soft", "critical", "high", "medium", "low", "good")
GROUNDS = ("back", "panel")
LEAST = 4.5
"""WCAG 2.2, 1.4.3 (AA), for text of any size."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A report with something of everything."""
    path = tmp_path_factory.mktemp("accessible") / "ledger.db"
    return asyncio.run(report_of(path, something_of_everything()))


def luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb`, as WCAG defines it."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in shares
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_computed_as_wcag_says() -> None:
    """Black on white is 21; #767676 is the lightest grey that passes on white."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") >= LEAST > contrast("#777777", "#ffffff")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(scheme: str) -> None:
    """Each colour of text on each ground."""
    schemes = re.findall(r":root \{(.*?)\}", style(), re.DOTALL)
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", schemes[scheme == "dark"]))
    ratios = {pair: contrast(*(colours[name] for name in pair)) for pair in product(TEXTS, GROUNDS)}
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < LEAST} == {}


def test_every_table_has_a_caption_of_its_own(report: Report) -> None:
    """And its columns' heads say that they are of columns."""
    page = render_html(report)
    tables = re.findall(r"<table>.*?</table>", page, re.DOTALL)
    captions = [re.findall(r"<caption>([^<]+)</caption>", table) for table in tables]
    assert all(len(each) == 1 for each in captions)
    names = [name for each in captions for name in each]
    assert len(set(names)) == len(names) >= 10
    assert "<th>" not in page
    assert page.count('role="region"') == len(tables)


def test_templates_have_no_table_without_a_caption() -> None:
    """Also of what this report has nothing of."""
    for file in Path("audit/reports/templates").glob("*.j2"):
        text = file.read_text()
        assert len(re.findall(r"<table", text)) == text.count("<caption>"), file.name


def test_pdf_is_tagged(report: Report) -> None:
    """As PDF/UA-1 demands: a tree of structure, a language, a title."""
    made = render_pdf(report)
    # What is packed may itself end with a carriage return: what follows it is not unpacked.
    streams = re.findall(rb"stream\r?\n(x.*?)endstream", made, re.DOTALL)
    content = made + b"".join(zlib.decompressobj().decompress(one) for one in streams)
    assert b"pdfuaid" in content
    for name in (b"/StructTreeRoot", b"/Marked true", b"/Lang (en)", b"/Caption", b"/TH", b"/H1"):
        assert name in content, name
