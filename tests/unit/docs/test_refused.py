"""What docs/refused.md and the README show of the product is what the product prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from admission.objects.size_limits import MAX_VALUES_OF_ONE, most_values
from core.base import names
from core.decision.request import Kind
from policies.projection.model import MAX_CONTAINERS, MAX_ENV, MAX_MARKS, MAX_VOLUMES
from tests.harness.evidence import ROOT

PAGE = (ROOT / "docs" / "refused.md").read_text()
README = (ROOT / "README.md").read_text()
COMMANDS = {
    "examples/pods/first-denial.yaml": "review examples/pods/first-denial.yaml",
    "explain examples/pods/rdma.yaml": (
        "explain examples/pods/rdma.yaml --cluster examples/cluster"
    ),
    "egress explain research/train-0 files.example.org:443": (
        "egress explain research/train-0 files.example.org:443 --cluster examples/egress/cluster"
    ),
}
"""The command of each excerpt, by the name that stands before it in the page."""
EXCERPTS = dict(
    re.findall(r"<!-- excerpt: ([^>]+) -->\n```text\n(.+?)```\n<!-- end -->", PAGE, re.DOTALL)
)


MESSAGES = {
    "has a meaning that this gate does not know: no rule has judged it": "admission/fields",
    "mounts a file system of many workloads": "policies/rego/privileges/shared_volume",
    "gives the choice of where traffic goes (": "policies/rego/privileges/rights/network",
    "gets a token that lasts": "policies/rego/privileges/token/lasting",
}
"""What the page quotes where no command prints it, and the folder of the code that says it."""


def sallyport(command: str) -> subprocess.CompletedProcess[str]:
    """Run `sallyport` in the root of the repository, as the pages say."""
    program = Path(sys.executable).parent / "sallyport"
    return subprocess.run(
        [program, *command.split()], cwd=ROOT, capture_output=True, text=True, check=False
    )


def without_ids(text: str) -> str:
    """Return `text` with the ids of decisions taken out: each run makes new ones."""
    return re.sub(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)


def test_every_excerpt_has_its_command() -> None:
    """Else one would not be compared."""
    assert EXCERPTS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_excerpt_is_what_the_command_prints(name: str) -> None:
    """To the letter, but for ids; of a file there is no decision on record."""
    done = sallyport(COMMANDS[name])
    assert done.returncode == 1, done.stderr
    told = done.stdout.replace("A dry run: no decision is on record", "Decision ID")
    assert without_ids(EXCERPTS[name]) in without_ids(told)


@pytest.mark.parametrize(("message", "folder"), MESSAGES.items())
def test_quoted_message_is_what_the_code_says(message: str, folder: str) -> None:
    """A researcher finds the section by the words that they read."""
    assert message in PAGE
    files = [path for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".rego"}]
    assert any(message in path.read_text() for path in files)


def test_limits_of_the_page_are_those_of_the_code() -> None:
    """Somebody who splits a Pod counts by them."""
    section = PAGE.partition("### Too large")[2].partition("\n## ")[0]
    said = [int(number.replace(",", "")) for number in re.findall(r"\| ([\d,]+)", section)]
    values = [most_values(Kind(kind, "v1")) for kind in ("Pod", "Role", "Namespace")]
    assert said == [MAX_CONTAINERS, MAX_MARKS, MAX_ENV, *values, MAX_VALUES_OF_ONE]
    assert f"in an update {most_values(Kind('Secret', 'v1')):,} in both" in section
    assert most_values(Kind("StorageClass", "v1", "storage.k8s.io")) == values[2]
    assert MAX_MARKS == MAX_VOLUMES
    assert most_values(Kind("Approval", "v1alpha1", names.GROUP)) == values[1]


def test_readme_shows_the_beginning_of_the_message() -> None:
    """The same message as the page's."""
    shown = re.search(r"```text\n(.+?)```", README, re.DOTALL)
    assert shown
    assert EXCERPTS["examples/pods/first-denial.yaml"].startswith(shown[1])


def test_job_of_the_page_is_admitted_by_restricted(tmp_path: Path) -> None:
    """The manifest that researchers copy needs no change."""
    manifest = re.search(r"<!-- admitted: restricted -->\n```yaml\n(.+?)```", PAGE, re.DOTALL)
    assert manifest
    (tmp_path / "job.yaml").write_text(manifest[1])
    done = sallyport(f"review --profile restricted {tmp_path / 'job.yaml'}")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("rule", "page"), re.findall(r"^`(\S+)` \(\[page\]\((\S+)\)\)", PAGE, re.MULTILINE)
)
def test_finding_links_the_page_of_its_rule(rule: str, page: str) -> None:
    """Each of the ten findings has a rule id, and the page says the same id."""
    assert f"Rule `{rule}`" in (ROOT / "docs" / page).read_text()


def test_readme_is_a_door() -> None:
    """At most 120 lines, one picture, five links to go on, no table."""
    assert len(README.splitlines()) <= 120
    assert len(re.findall(r"^!\[|^```mermaid", README, re.MULTILINE)) == 1
    assert len(re.findall(r"\]\(", README.partition("## Where to go on")[2])) == 5
    assert not re.search(r"^\|", README, re.MULTILINE)


def test_every_page_of_the_readme_is_reachable_from_the_home_page() -> None:
    """Whoever opens the site finds what the README promises."""
    home = re.findall(r"\]\(([^)]+)\)", (ROOT / "docs" / "index.md").read_text())
    pages = set(re.findall(r"\]\(docs/([^)]+)\)", README)) - {"index.md"}
    assert pages <= set(home)
