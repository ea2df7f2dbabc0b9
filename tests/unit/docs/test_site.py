"""The documentation site: links lead somewhere, pages fetch nothing, indexes are complete."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from docs.generate.site import broken_links, fetched
from tests.harness.evidence import ROOT

DOCS = ROOT / "docs"
FAMILIES = {
    "adr/index.md": "adr/0*.md",
    "detections/index.md": "detections/*.md",
    "evidence/README.md": "evidence/*.md",
    "policies/library.md": "policies/library/*.md",
    "profiles/index.md": "profiles/*.md",
    "rules/index.md": "rules/**/*.md",
}
"""Pages that the site's navigation leaves to an index."""


def build(folder: Path, page: str) -> subprocess.CompletedProcess[str]:
    """Build a site of one page by the settings of mkdocs.yml."""
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text(page)
    own = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "nav": [{"Home": "index.md"}],
        "hooks": [],
        "not_in_nav": "",
        "plugins": [],
        "theme": {"name": "mkdocs"},
        "extra_css": [],
        "markdown_extensions": ["toc"],
    }
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(own))
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder / "site"],
        cwd=folder,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("link", ["gone.md", "#gone", "/index.md", "../README.md"])
def test_broken_link_of_a_page_fails_the_build(tmp_path: Path, link: str) -> None:
    """A file or an anchor that is not there, an absolute path, a file outside of docs."""
    done = build(tmp_path, f"# Home\n\n[there]({link})\n")
    assert done.returncode == 1
    assert link.lstrip("#") in done.stderr


def test_page_without_broken_links_builds(tmp_path: Path) -> None:
    """Else the test above would prove nothing."""
    done = build(tmp_path, "# Home\n\n[here](#home)\n")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("[a](there.md) [b](there.md#what-it-is) [c](#here)\n# Here\n", []),
        ("[a](gone.md)", ["gone.md"]),
        ("[a](there.md#gone)", ["there.md#gone"]),
        ("[a](#gone)", ["#gone"]),
        ("[a](https://example.org/gone) `[b](gone.md)`", []),
    ],
)
def test_broken_link_beside_the_site_is_named(tmp_path: Path, text: str, broken: list[str]) -> None:
    """README, CONTRIBUTING and such: their files and headings."""
    (tmp_path / "there.md").write_text("# What it is\n")
    (tmp_path / "README.md").write_text(text)
    assert broken_links(tmp_path) == [f"README.md: {link} leads nowhere" for link in broken]


@pytest.mark.parametrize(
    ("html", "urls"),
    [
        ('<script src="https://cdn.example.org/a.js"></script>', ["https://cdn.example.org/a.js"]),
        ('<link rel="stylesheet" href="//example.org/a.css">', ["//example.org/a.css"]),
        ('<a href="https://example.org/">a link</a><script src="site/a.js"></script>', []),
    ],
)
def test_page_that_fetches_from_elsewhere_is_named(
    tmp_path: Path, html: str, urls: list[str]
) -> None:
    """A script or a style of another host; a link that a reader follows is none."""
    (tmp_path / "index.html").write_text(html)
    assert list(fetched(tmp_path)) == [("index.html", url) for url in urls]


@pytest.mark.parametrize("index", FAMILIES)
def test_index_lists_every_page_of_its_family(index: str) -> None:
    """What is in no navigation is reachable from its index."""
    folder = (DOCS / index).parent
    linked = {
        (folder / target).resolve()
        for target in re.findall(r"\]\(([^)#]+\.md)", (DOCS / index).read_text())
    }
    if index == "rules/index.md":
        signals = DOCS / "sandbox" / "signals.md"
        found = re.findall(r"\]\(([^)#]+\.md)", signals.read_text())
        linked |= {(signals.parent / target).resolve() for target in found}
    pages = {path.resolve() for path in DOCS.glob(FAMILIES[index])} - {(DOCS / index).resolve()}
    assert pages - linked == set()
