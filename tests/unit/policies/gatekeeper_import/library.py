"""A checkout of the public library (gatekeeper-library): its suites, each judged here.

The library is no Go module and in no registry, so no tool of this repository fetches it: whoever
has a checkout names it in SALLYPORT_GATEKEEPER_LIBRARY. Nothing of it is kept here.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from cli.flags import read_flags
from cli.review.run import review
from cli.shared.manifests import make_terms
from policies.gatekeeper_import.importer import ConvertedRules
from tests.unit.policies.gatekeeper_import.converted_templates import built, carried

VARIABLE = "SALLYPORT_GATEKEEPER_LIBRARY"


class Verdict(msgspec.Struct, frozen=True):
    """What became of one template and the samples of its suite."""

    name: str
    why: str = ""
    """Why it was refused; empty where it was carried over."""
    right: int = 0
    """Samples that are judged as the suite says."""
    wrong: tuple[str, ...] = ()
    skipped: int = 0
    """Samples that are no object that is created: AdmissionReviews, or with an inventory.

    And those that no cluster takes, whatever the template says: Pods without a container.
    """

    @property
    def reads_others(self) -> bool:
        """Whether it reads other objects than the one that is judged."""
        return "data.inventory" in self.why


def judge_library(folder: Path, scratch: Path) -> Iterator[Verdict]:
    """Yield what becomes of each template below a folder."""
    for suite in sorted(folder.glob("library/**/suite.yaml")):
        yield _judged(suite, scratch / suite.parent.name)


def table(verdicts: list[Verdict]) -> list[str]:
    """Return the verdicts as rows of Markdown."""
    rows = ["| Template | Carried over | Samples as stated |", "| --- | --- | --- |"]
    for each in verdicts:
        asked = each.right + len(each.wrong)
        wrong = f" (not: {', '.join(each.wrong)})" if each.wrong else ""
        rows.append(
            f"| {each.name} | {each.why or 'yes'} | "
            + (f"{each.right} of {asked}{wrong}; {each.skipped} skipped |" if asked else "– |")
        )
    return rows


def _judged(suite: Path, scratch: Path) -> Verdict:
    name, right, wrong, skipped = suite.parent.name, 0, [], 0
    tests = yaml.safe_load(suite.read_text()).get("tests")
    for number, test in enumerate(tests or [{"template": "template.yaml"}]):
        files = [suite.parent / test[key] for key in ("template", "constraint") if key in test]
        made = carried(*files)
        if refused := [each for each in made.outcomes if each.refused]:
            return Verdict(name, refused[0].why.replace(f"{suite.parent}/", ""))
        (scratch / str(number)).mkdir(parents=True)
        bundle = built(made, scratch / str(number))
        for case in test.get("cases") or []:
            file = suite.parent / case["object"]
            stated = _stated(case)
            if stated is None or _kind(file) == "AdmissionReview":
                skipped += 1
                continue
            found = _finds(made, bundle, file)
            if found is None:
                skipped += 1
            elif found is stated:
                right += 1
            else:
                wrong.append(f"{test['name']}/{case['name']}")
    return Verdict(name, "", right, tuple(wrong), skipped)


def _kind(file: Path) -> str:
    return str(next(yaml.safe_load_all(file.read_text()))["kind"])


def _stated(case: dict[str, Any]) -> bool | None:
    """Return whether a suite states violations.

    None where it needs other objects, or says nothing.
    """
    if case.get("inventory") or not case.get("assertions"):
        return None
    stated = case["assertions"][0].get("violations", True)
    return stated not in {False, "no"}


def _finds(made: ConvertedRules, bundle: Path, file: Path) -> bool | None:
    """Return whether the template's rule finds something; None where the object is none."""
    rules = {each.rule for each in made.outcomes}
    terms = make_terms("pss-privileged", None, (), "default")
    report = asyncio.run(review(read_flags(None, bundle=bundle), [str(file)], terms))
    found = {it.rule for each in report.results for it in each.element.findings}
    return None if "error/object" in found else bool(found & rules)
