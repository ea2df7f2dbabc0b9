"""`sallyport review` of what the gate refuses for its size, or warns of for its fields."""

import json
from pathlib import Path
from typing import Any

from admission.objects.size_limits import MAX_POD_VALUES
from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import pod, write


def reviewed(run: Run, *arguments: object) -> dict[str, Any]:
    """Return the only element that review prints."""
    found: list[dict[str, Any]] = json.loads(run("review", "-o", "json", *arguments).out)
    (element,) = found
    return element


def test_what_holds_more_values_than_are_judged_is_an_error(run: Run, tmp_path: Path) -> None:
    """As the gate says it: with the limit, and never "allowed"."""
    made = pod()
    made["spec"]["containers"][0]["args"] = ["a"] * (MAX_POD_VALUES + 1)
    file = tmp_path / "a.json"
    file.write_text(json.dumps(made))
    done = run("review", file)
    assert done.code == 2
    assert "more than 40,000 are not judged" in done.out


def test_a_field_that_the_gate_does_not_know_is_noted(run: Run, tmp_path: Path) -> None:
    """Nobody knows whether it is misspelt: then kube-apiserver drops it, and no gate sees it."""
    made = pod(example=1)
    made["spec"]["containers"][0]["securityContext"]["writableCgroups"] = True
    element = reviewed(run, write(tmp_path / "a.yaml", made))
    assert (element["verdict"], element["findings"]) == ("allow", [])
    (note,) = element["notes"]
    assert "spec.containers[0].securityContext.writableCgroups" in note
    assert "spec.example" in note
    assert "field/unknown" in note
    assert reviewed(run, write(tmp_path / "a.yaml", pod()))["notes"] == []


def test_many_unknown_fields_make_a_short_note(run: Run, tmp_path: Path) -> None:
    """The first are named."""
    made = pod()
    made["spec"] |= {f"field{number}": 1 for number in range(100)}
    (note,) = reviewed(run, write(tmp_path / "a.yaml", made))["notes"]
    assert "and more" in note
    assert len(note) < 600
