"""A report as PDF, from the same page. Needs Pango, which is a library of the system."""

import logging
import os
import warnings
from typing import Any, Final

from audit.reports.html import render_html
from audit.reports.model import Report
from core.base.errors import ReportError

_MISSING: Final = (
    "PDF needs the library Pango, which is not installed: install it (Debian: libpango-1.0-0 "
    "libpangoft2-1.0-0 libharfbuzz-subset0, and fonts such as fonts-dejavu-core), or ask for "
    "--format html, which prints the same pages"
)


def render_pdf(report: Report) -> bytes:
    """Return the document. The same report gives the same bytes, with the same fonts and libraries.

    Raises:
        ReportError: Pango is not installed.
    """
    text = render_html(report, printed=True)
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # Fonts' tables bear the time of subsetting.
    with warnings.catch_warnings():
        # Without HarfBuzz's subsetter fontTools subsets: slower, and as good.
        warnings.filterwarnings("ignore", "HarfBuzz-Subset", DeprecationWarning)
        weasyprint = _weasyprint()
        own = weasyprint.urls.URLFetcher(allowed_protocols={"data"}, fail_on_errors=True)
        page = weasyprint.HTML(string=text, base_url=None, url_fetcher=own)
        made: bytes = page.write_pdf(
            pdf_identifier=report.digest.encode(), pdf_variant="pdf/ua-1", pdf_tags=True
        )
    return made


def _weasyprint() -> Any:
    try:
        import weasyprint  # type: ignore[import-untyped]  # noqa: PLC0415  Not on every machine.
    except OSError as error:
        raise ReportError(_MISSING) from error
    # It warns of each rule of style that is for screens alone.
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    return weasyprint
