"""`sallyport policy replay`: what another bundle would have said of what was asked for."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from app.processes.gate.process import open_shadow
from app.settings.policies import ShadowSection
from app.settings.root import Settings
from app.wiring import ONLY_EMBEDDED
from core.decision.decision import Verdict
from core.decision.document import DecisionDocument
from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.bundle.format import read_bundle
from tests.harness.evidence import record
from tests.harness.pages import parsed
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.replay_bundles import make_bundles
from tests.harness.worlds.replayed_reviews import Scene, cluster_of, make_scene
from tests.tools.provide import provide
from tests.unit.cli.conftest import Run
from tests.unit.cli.policy.replay_counts import changed, effects

COUNT = size(2000, 100_000)
MOST_SECONDS = 180
SMALL = 60
FOR_OPA = """# METADATA
# scope: package
# title: A rule
# description: Of a site.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: has a token {value}
#   remedy: Take it out.
#   fields: [metadata.annotations]
package sallyport.rules.acme.decode

deny contains {"path": "metadata.annotations", "value": "x"} if {
	some token in input.fields.metadata.annotations
	io.jwt.decode(token)[1].iss == "x"
}
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A few reviews, of all kinds."""
    return make_scene(tmp_path_factory.mktemp("replay"), SMALL)


def replayed(run: Run, *flags: object, code: int) -> dict[str, Any]:
    """Replay, and give what is answered."""
    done = run("policy", "replay", *flags, "-o", "json", "--jobs", 1)
    assert done.code == code, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def flags_of(scene: Scene, ledger: str = "") -> tuple[object, ...]:
    """Return the flags that compare both bundles."""
    bundles = ("--bundle", scene.candidate, "--base", scene.base)
    return (*bundles, "--ledger", ledger or scene.ledger)


@pytest.mark.proof
def test_differences_are_those_of_judging_each_anew(run: Run, tmp_path: Path) -> None:
    """The gate itself, asked again with each bundle, changes its mind as often as replay says."""
    scene = make_scene(tmp_path, COUNT, variety=size(40, 2000))
    began = time.monotonic()
    done = run("policy", "replay", *flags_of(scene), "-o", "json", "--jobs", 2)
    seconds = time.monotonic() - began
    found = json.loads(done.out)
    said = effects(found)
    assert (done.code, found["reviews"], found["compared"]) == (1, COUNT, COUNT)
    assert (found["left"], found["notReproduced"]) == ([], 0)
    assert min(scene.anew.values()) > COUNT // 50
    assert {key: said.get(key) for key in ("newlyRefused", "newlyAdmitted")} == scene.anew
    if PROOF:
        assert seconds < MOST_SECONDS
        record(
            "replay",
            [
                "- Recorded by the gate's own path `/validate`: Pods, Deployments and Services in "
                "three namespaces, one of which only warns",
                f"- **{COUNT:,} recorded reviews with {found['distinct']:,} different inputs "
                f"replayed with two bundles in {seconds:.0f} s** on 2 processes, the ledger "
                f"(SQLite) read and both bundles loaded: {COUNT / seconds:,.0f} a second",
                f"- Newly refused {said['newlyRefused']:,}, newly admitted "
                f"{said['newlyAdmitted']:,}: as many as the gate itself, asked at `/validate` "
                "about each review with one bundle and then with the other",
                "- The base bundle's answers are those that were recorded, all of them",
            ],
        )


def test_people_see_what_would_change_and_a_verdict(run: Run, scene: Scene) -> None:
    """By rule, namespace and requester, with ids to go on with; the last line says what to do."""
    done = run("policy", "replay", *flags_of(scene), "--jobs", 1)
    found = replayed(run, *flags_of(scene), code=1)
    refused = found["changes"][0]
    assert done.code == 1
    assert refused["effect"] == "newlyRefused"
    assert f"{refused['reviews']} would newly be refused" in done.out
    for each in (*refused["rules"], *refused["namespaces"], *refused["requesters"]):
        assert each["name"] in done.out
    assert {each["name"] for each in refused["rules"]} <= {"rules/acme/labels", "rules/acme/host"}
    assert {each["name"][:5] for each in refused["requesters"]} == {"user:"}
    assert refused["examples"][0] in done.out
    assert "\nDo not promote it yet: " in done.out
    assert found["verdict"].startswith("Do not promote it yet: ")


def test_a_page_is_written_too(run: Run, scene: Scene, tmp_path: Path) -> None:
    """With what is answered otherwise; a missing folder is refused before all the work."""
    file = tmp_path / "replay.html"
    found = replayed(run, *flags_of(scene), "--html", file, code=1)
    words = parsed(file.read_text()).words
    assert found["verdict"] in words
    for change in found["changes"]:
        assert sum(each["reviews"] for each in change["times"]) == change["reviews"]
        assert change["examples"][0] in words
    done = run("policy", "replay", *flags_of(scene), "--html", tmp_path / "no" / "x.html")
    assert (done.code, "--html" in done.err, "there is no folder" in done.err) == (64, True, True)
    done = run("policy", "replay", *flags_of(scene), "--html", tmp_path)
    assert (done.code, "is a folder: name a file" in done.err, done.out) == (64, True, "")


def test_a_page_that_cannot_be_written_costs_no_result(
    run: Run, scene: Scene, tmp_path: Path
) -> None:
    """It is printed first."""
    page = tmp_path / "page.html"
    page.symlink_to(tmp_path / "no" / "page.html")
    done = run("policy", "replay", *flags_of(scene), "--jobs", 1, "-o", "json", "--html", page)
    assert (done.code, f"--html {page}: No such file" in done.err) == (64, True)
    assert json.loads(done.out)["changes"]


def test_the_same_bundle_changes_nothing(run: Run, scene: Scene) -> None:
    """Then it may be put in force."""
    flags = ("--bundle", scene.base, "--base", scene.base, "--ledger", scene.ledger)
    found = replayed(run, *flags, code=0)
    assert found["changes"] == []
    assert found["verdict"].startswith("Promote it: nothing would newly be refused")


def test_the_base_says_what_it_is(run: Run, scene: Scene, tmp_path: Path) -> None:
    """Without a cluster nobody knows whether a published bundle is in force."""
    config = tmp_path / "settings.yaml"
    config.write_text(json.dumps({"bundle": str(scene.base)}))
    flags = ("--bundle", scene.candidate, "--ledger", scene.ledger)
    unknown = "whether a published bundle is in force instead is not known without --kubeconfig"
    named = replayed(run, *flags_of(scene), code=1)
    assert named["baseNote"] == "it is the file of --base"
    of_settings = replayed(run, *flags, "--config", config, code=1)
    assert of_settings["base"] == named["base"]
    assert of_settings["baseNote"] == f"it is the bundle of these settings: {unknown}"
    done = run("policy", "replay", *flags, "--jobs", 1)
    shown = " ".join(done.out.split())
    assert f"The base: it is the built-in bundle: {unknown}." in shown


def test_a_bundle_for_an_opa_server_is_refused(run: Run, scene: Scene, tmp_path: Path) -> None:
    """As candidate, base and shadow: it says that only the embedded engine is asked here."""
    site, bundle = tmp_path / "site", tmp_path / "opa.tar.gz"
    site.mkdir()
    (site / "decode.rego").write_text(FOR_OPA)
    build(provide("opa"), BUILT_IN_REGO, bundle, [site], embedded=False)
    for flags in (("--bundle", bundle), ("--bundle", scene.base, "--base", bundle)):
        done = run("policy", "replay", *flags, "--ledger", scene.ledger)
        assert (done.code, "io.jwt.decode" in done.err) == (2, True)
        assert ONLY_EMBEDDED in done.err
    riding = Settings(shadow=ShadowSection(bundle=bundle))
    in_force = read_bundle(scene.base)
    cluster = cluster_of(tmp_path)
    with open_shadow(riding, cluster, lambda: in_force, CollectorRegistry()) as shadow:
        assert shadow is not None
        end = time.monotonic() + MOST_SECONDS
        while not shadow.problem:
            assert time.monotonic() < end
            time.sleep(0.01)
    assert ONLY_EMBEDDED in shadow.problem


def test_replay_of_one_namespace_counts_no_other(run: Run, scene: Scene) -> None:
    """The others do not count."""
    found = replayed(run, *flags_of(scene), "-n", "web", code=1)
    names = {each["name"] for change in found["changes"] for each in change["namespaces"]}
    assert names == {"web"}
    assert 0 < found["reviews"] < SMALL


def test_a_rule_that_reads_what_was_not_recorded_is_named(
    run: Run, scene: Scene, tmp_path: Path
) -> None:
    """Nobody knows what it would say; what the other rules say counts all the same."""
    _, candidate = make_bundles(tmp_path, unread=True)
    flags = ("--bundle", candidate, "--base", scene.base, "--ledger", scene.ledger)
    found = replayed(run, *flags, code=2)
    (left,) = found["left"]
    assert (left["rule"], left["failure"]) == ("rules/acme/names", True)
    assert left["reason"].startswith("it reads what was not recorded")
    assert 0 < left["reviews"] < SMALL  # Services are none of its kinds.
    assert effects(found)["newlyRefused"] == scene.anew["newlyRefused"]


def test_records_of_an_earlier_release_are_named(run: Run, scene: Scene, tmp_path: Path) -> None:
    """They have no context: what a site's rules would say of them is not known."""
    put = msgspec.structs.replace
    ledger = changed(tmp_path, scene, lambda made: put(made, context="", fields=""))
    found = replayed(run, *flags_of(scene, ledger), code=2)
    rules = {each["rule"] for each in found["left"]}
    assert rules >= {"rules/acme/labels", "rules/acme/host"}
    assert "newlyRefused" not in effects(found)
    assert "answers are missing" in found["verdict"]


def test_what_the_ledger_no_longer_has_is_counted(run: Run, scene: Scene, tmp_path: Path) -> None:
    """A projection may be too large to keep, or its day gone."""
    lost = "sha256:" + "0" * 64

    def without(made: DecisionDocument) -> DecisionDocument:
        return msgspec.structs.replace(made, projection=made.projection and lost)

    found = replayed(run, *flags_of(scene, changed(tmp_path, scene, without)), code=2)
    assert found["left"][0]["reason"].startswith("what policies saw is not in the ledger")
    assert found["left"][0]["reviews"] + found["compared"] == SMALL


def test_what_could_not_be_judged_then_is_no_failure_now(
    run: Run, scene: Scene, tmp_path: Path
) -> None:
    """It is counted, and the answer is whole without it."""
    seen: list[str] = []

    def failed(made: DecisionDocument) -> DecisionDocument | None:
        seen.append(made.id)
        put = msgspec.structs.replace
        return put(made, verdict=Verdict.ERROR, allowed=False) if len(seen) == 1 else made

    ledger = changed(tmp_path, scene, failed)
    found = replayed(run, *flags_of(scene, ledger), code=1)
    (left,) = found["left"]
    assert (left["examples"], left["failure"]) == (seen[:1], False)


def test_what_the_base_would_answer_otherwise_is_told(
    run: Run, scene: Scene, tmp_path: Path
) -> None:
    """A record that lacks something that mattered is no ground for a promotion."""
    changed_ids: list[str] = []

    def allowed(made: DecisionDocument) -> DecisionDocument:
        if made.allowed or {each.rule for each in made.findings} != {"rules/acme/labels"}:
            return made
        changed_ids.append(made.id)
        put = msgspec.structs.replace
        return put(made, allowed=True, verdict=Verdict.ALLOW, findings=[])

    ledger = changed(tmp_path, scene, allowed)
    found = replayed(run, *flags_of(scene, ledger), code=2)
    assert found["notReproduced"] == len(changed_ids) > 0
    assert set(found["notReproducedExamples"]) <= set(changed_ids)


def test_a_time_in_which_nothing_was_asked_is_wrong_usage(run: Run, scene: Scene) -> None:
    """Nothing seen is no reason to promote."""
    done = run("policy", "replay", *flags_of(scene), "--since", "9d", "--until", "8d")
    assert (done.code, "no review of that time" in done.err) == (64, True)
    wrong = run("policy", "replay", *flags_of(scene), "--since", "1d", "--until", "2d")
    assert (wrong.code, "--since is not before --until" in wrong.err) == (64, True)


def test_a_candidate_that_is_none_is_refused(run: Run, scene: Scene, tmp_path: Path) -> None:
    """Before anything is read."""
    broken = tmp_path / "broken.tar.gz"
    shutil.copy(scene.base, broken)
    broken.write_bytes(broken.read_bytes()[:100])
    done = run("policy", "replay", "--bundle", broken, "--ledger", scene.ledger)
    assert (done.code, "cannot be read as a bundle" in done.err) == (2, True)
