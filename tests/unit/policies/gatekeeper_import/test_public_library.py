"""A library of templates, with suites as the public one has them, judged as the suites say.

The floor: nine of ten of the templates that read no other object, with all their samples right.

The library is no Go module and in no registry, so no tool of this repository fetches it: whoever
has a checkout names it in SALLYPORT_GATEKEEPER_LIBRARY. Nothing of it is kept here.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from cli.flags import read_flags
from cli.review.run import review
from cli.shared.manifests import make_terms
from policies.gatekeeper_import.importer import ConvertedRules
from tests.harness.evidence import record
from tests.harness.sizes import PROOF
from tests.unit.policies.gatekeeper_import.converted_templates import (
    NAMES,
    TEMPLATES,
    Said,
    built,
    carried,
    said_by_opa,
)
from tests.unit.policies.gatekeeper_import.made_templates import policy, template

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


LIKE_IT = ("labels", "https")
NOT_HAD = (
    "The public library itself was not judged: it is no Go module (there is no go.mod at its root) "
    f"and in no package registry, and {VARIABLE} named no checkout of it. With one, `make proof` "
    "adds its table here, and fails below nine of ten."
)


def small_library(folder: Path) -> Path:
    """Make a library of a few templates of this folder, and one that reads other objects."""
    for name in LIKE_IT:
        place = folder / "library" / "general" / name
        place.mkdir(parents=True)
        documents = (TEMPLATES / name / "policy.yaml").read_text().split("---\n")
        (place / "template.yaml").write_text(documents[0])
        (place / "constraint.yaml").write_text(documents[1])
        cases: list[dict[str, object]] = [
            {"name": word, "object": f"{word}.yaml", "assertions": [{"violations": stated}]}
            for word, stated in (("allowed", "no"), ("disallowed", "yes"))
        ]
        for case in cases:
            text = (TEMPLATES / name / str(case["object"])).read_text()
            (place / str(case["object"])).write_text(text.split("---\n")[0])
        _suite(place, cases)
    place = folder / "library" / "general" / "others"
    place.mkdir()
    shutil.copy(folder / "library" / "general" / "labels" / "constraint.yaml", place)
    (place / "template.yaml").write_text(template(policy("data.inventory.cluster")))
    _suite(place, [])
    return folder


def _suite(place: Path, cases: list[dict[str, object]]) -> None:
    test = {"name": "one", "template": "template.yaml", "constraint": "constraint.yaml"}
    (place / "suite.yaml").write_text(yaml.safe_dump({"tests": [test | {"cases": cases}]}))


def enough(verdicts: list[Verdict]) -> bool:
    """Return whether nine of ten of those that read no other object are right."""
    asked = [each for each in verdicts if not each.reads_others]
    right = [each for each in asked if not each.why and not each.wrong]
    return len(right) >= 0.9 * len(asked) > 0


def test_a_small_library_is_judged_as_its_suites_say(tmp_path: Path) -> None:
    """And what reads other objects is told apart."""
    found = {each.name: each for each in judge_library(small_library(tmp_path / "l"), tmp_path)}
    assert {name: (each.right, each.wrong) for name, each in found.items()} == {
        "labels": (2, ()),
        "https": (2, ()),
        "others": (0, ()),
    }
    assert [each.name for each in found.values() if each.reads_others] == ["others"]
    assert enough(list(found.values()))


def test_a_sample_that_no_cluster_takes_is_skipped(tmp_path: Path) -> None:
    """A Pod without a container is refused as such, before any rule is asked."""
    place = small_library(tmp_path / "l") / "library" / "general" / "labels"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": []}}
    (place / "empty.yaml").write_text(yaml.safe_dump(pod))
    _suite(
        place, [{"name": "empty", "object": "empty.yaml", "assertions": [{"violations": "yes"}]}]
    )
    found = {each.name: each for each in judge_library(tmp_path / "l", tmp_path)}["labels"]
    assert (found.right, found.wrong, found.skipped) == (0, (), 1)


def test_the_floor_can_be_missed() -> None:
    """By a sample that is wrong, by a refusal; not by what reads other objects."""
    right = [Verdict(str(number), right=1) for number in range(9)]
    others = Verdict("others", "f.yaml:1: data.inventory: reads other objects")
    assert enough([*right, others, Verdict("bad", wrong=("a/b",))])
    assert not enough([*right[1:], others, Verdict("bad", wrong=("a/b",))])
    assert not enough([*right[1:], Verdict("bad", "refused")])


@pytest.mark.proof
def test_what_was_shown_is_written_down(tmp_path: Path, said: Said) -> None:
    """Of the templates of this folder always, of the public library where there is a checkout."""
    rows = ["", "| Template | Samples | Messages as OPA's own |", "| --- | --- | --- |"]
    for name in NAMES if PROOF else NAMES[:3]:
        own = said_by_opa(name)[name, "disallowed"]
        assert said[name, "disallowed"] == own
        count = len(own) + len(said.get((name, "allowed"), []))
        rows.append(f"| {name} | {count} | {len(own)} of {len(own)} |")
    checkout = os.environ.get(VARIABLE, "")
    verdicts = list(judge_library(Path(checkout), tmp_path)) if PROOF and checkout else []
    if PROOF:
        head = f"- Templates in the public library's style, written for the tests: {len(NAMES)}"
        record(
            "gatekeeper-import", [head, *rows, "", *(table(verdicts) if verdicts else [NOT_HAD])]
        )
    assert not verdicts or enough(verdicts), table(verdicts)
