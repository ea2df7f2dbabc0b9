"""The page: hostile words stay words, nothing is fetched, and it can be read without eyes."""

from typing import Any

import msgspec
import pytest

from audit.reports.html import render_html
from audit.reports.model import Report
from audit.reports.pdf import render_pdf
from core.base.errors import ReportError
from tests.harness.pages import parsed, require_closed, require_readable
from tests.harness.programs.availability import skip_or_fail
from tests.tools.provide import CannotProvideError
from tests.unit.audit.reports.records import HUMAN


def test_words_of_others_are_escaped_and_spelt_out(report: Report) -> None:
    """A reason with a script, a turn of the direction of writing and a terminal's escape."""
    page = render_html(report)
    found = parsed(page)
    assert {"script", "style"} & {tag for tag, _ in found.elements} == {"style"}
    assert "<script>alert(1)</script>\\u202e=cmd" in found.words
    assert not {char for char in page if not char.isprintable()} - {"\n", "\u202f"}


def test_page_needs_nothing_and_lets_nothing_in(report: Report) -> None:
    """No addresses to fetch, no handlers, no styles but the one that the policy names."""
    require_closed(render_html(report))


def test_page_can_be_read_without_eyes(report: Report) -> None:
    """By a screen reader, with a keyboard."""
    require_readable(render_html(report))


def test_first_comes_what_needs_attention_and_what_is_missing(report: Report) -> None:
    """Then what was accessed; the digest stands on it."""
    page = render_html(report)
    order = [page.index(f'id="{place}"') for place in ("attention-h", "completeness", "access")]
    assert order == sorted(order)
    assert report.digest in page


def test_names_are_marked_and_shown(report: Report) -> None:
    """Who holds it must know that it names people; without names it says how to get them."""
    named = render_html(msgspec.structs.replace(report, people={HUMAN: "Ada <b>Example</b>"}))
    assert "This report names people" in named
    assert "Ada &lt;b&gt;Example&lt;/b&gt;" in named
    assert "This report names people" not in render_html(report)


def test_sample_says_that_it_is_one(report: Report) -> None:
    """On the first page; a real one does not."""
    scope = msgspec.structs.replace(report.scope, sample=True)
    assert "these records are made up" in render_html(msgspec.structs.replace(report, scope=scope))
    assert "these records are made up" not in render_html(report)


def test_pdf_is_the_same_each_time_and_bears_the_digest(report: Report) -> None:
    """Its dates are the report's, and so is its id."""
    try:
        made = render_pdf(report)
    except ReportError as error:
        skip_or_fail(CannotProvideError(str(error)))
    assert made.startswith(b"%PDF-")
    assert render_pdf(report) == made


def test_pdf_without_pango_says_what_to_install(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An image without the library refuses PDF alone, and says so."""

    def load(name: str, *arguments: Any) -> Any:
        if name == "weasyprint":
            raise OSError("cannot load library 'libpango-1.0-0'")
        return imported(name, *arguments)

    imported = __import__
    monkeypatch.setattr("builtins.__import__", load)
    with pytest.raises(ReportError, match=r"libpango.*--format html"):
        render_pdf(report)
