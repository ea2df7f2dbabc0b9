"""A library of templates, with suites as the public one has them, judged as the suites say.

The floor: nine of ten of the templates that read no other object, with all their samples right.
"""

import os
import shutil
from pathlib import Path

import pytest
import yaml

from tests.harness.evidence import record
from tests.harness.sizes import PROOF
from tests.unit.policies.gatekeeper_import.converted_templates import (
    NAMES,
    TEMPLATES,
    Said,
    said_by_opa,
)
from tests.unit.policies.gatekeeper_import.library import VARIABLE, Verdict, judge_library, table
from tests.unit.policies.gatekeeper_import.made_templates import policy, template

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
