"""`sallyport review` of files that hold roles and their bindings."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.worlds import rbac
from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import write

ALICE = rbac.user("alice@example.com")
TOKENS = rbac.rule([""], "serviceaccounts/token", "create", "deployer")
TOKEN = "rights/token/deployer"


def bound(to: str, kind: str = "ClusterRole", namespace: str | None = "team") -> dict[str, Any]:
    """Return a binding of a role to Alice."""
    made: dict[str, Any] = dict(rbac.binding(to, ALICE, namespace=namespace))
    made["roleRef"] = {**made["roleRef"], "kind": kind}
    return made


def binding_of(run: Run, *arguments: object) -> dict[str, Any]:
    """Return the element of the only binding that is reviewed, by `baseline`, whoever asks."""
    done = run("review", "-o", "json", "--profile", "baseline", *arguments)
    (element,) = (e for e in json.loads(done.out) if e["kind"].endswith("Binding"))
    found: dict[str, Any] = element
    return found


def privileges(element: dict[str, Any]) -> list[str]:
    """Return the privileges of an element's findings."""
    return [finding["privilege"] for finding in element["findings"]]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("cluster", [True, False])
def test_a_binding_gives_what_the_files_role_holds(
    run: Run, tmp_path: Path, *, first: bool, cluster: bool
) -> None:
    """Whichever comes first, in whichever file; of a Role, in the binding's namespace."""
    kind = "ClusterRole" if cluster else "Role"
    role = rbac.role("tokens", TOKENS, None if cluster else "team")
    names = ("a", "b") if first else ("b", "a")
    write(tmp_path / f"{names[0]}.yaml", role)
    write(tmp_path / f"{names[1]}.yaml", bound("tokens", kind))
    element = binding_of(run, tmp_path)
    assert (privileges(element), element["notes"]) == ([TOKEN], [])


def test_the_files_win_over_the_folder(run: Run, tmp_path: Path) -> None:
    """They are what is about to be applied; what they lack is the folder's."""
    held = [rbac.role("tokens", rbac.rule([""], "pods", "get")), rbac.role("other", TOKENS)]
    cluster = write(tmp_path / "cluster" / "a.yaml", *held).parent
    for name in ("tokens", "other"):
        file = write(tmp_path / "a.yaml", rbac.role("tokens", TOKENS), bound(name))
        assert privileges(binding_of(run, "--cluster", cluster, file)) == [TOKEN]


def test_a_role_without_a_namespace_lies_in_that_of_the_review(run: Run, tmp_path: Path) -> None:
    """As `kubectl apply -n` would put it, and the binding with it."""
    role, binding = rbac.role("tokens", TOKENS, "x"), bound("tokens", "Role", "x")
    del role["metadata"]["namespace"], binding["metadata"]["namespace"]
    file = write(tmp_path / "a.yaml", role, binding)
    assert privileges(binding_of(run, "-n", "team", file)) == [TOKEN]
    elsewhere = rbac.role("tokens", TOKENS, "elsewhere")
    file = write(tmp_path / "a.yaml", elsewhere, binding)
    assert privileges(binding_of(run, "-n", "team", file)) == ["rights/unknown-role"]


@pytest.mark.parametrize("name", ["cluster-admin", "admin", "edit", "system:aggregate-to-edit"])
def test_a_role_of_kubernetes_gives_what_it_gave(run: Run, tmp_path: Path, name: str) -> None:
    """Whatever a file makes of it: Kubernetes puts its rules back, and nobody would look again."""
    before = privileges(binding_of(run, write(tmp_path / "a.yaml", bound(name))))
    harmless = rbac.role(name, rbac.rule([""], "configmaps", "get"))
    after = privileges(binding_of(run, write(tmp_path / "b.yaml", harmless, bound(name))))
    assert after == before != []


def test_a_cluster_role_with_a_namespace_is_no_role_of_it(run: Run, tmp_path: Path) -> None:
    """kube-apiserver would not take it: what the Role of its name holds is not known."""
    misplaced = rbac.role("tokens", rbac.rule([""], "configmaps", "get"))
    misplaced["metadata"]["namespace"] = "team"
    file = write(tmp_path / "a.yaml", misplaced, bound("tokens", "Role"))
    assert privileges(binding_of(run, file)) == ["rights/unknown-role"]


def test_a_role_that_stands_twice_gives_all_of_both(run: Run, tmp_path: Path) -> None:
    """Nobody knows which of two overlays is applied."""
    other = rbac.role("tokens", rbac.rule([""], "serviceaccounts", "impersonate", "a"))
    file = write(tmp_path / "a.yaml", rbac.role("tokens", TOKENS), other, bound("tokens"))
    assert set(privileges(binding_of(run, file))) == {
        TOKEN,
        "rights/impersonate/serviceaccounts/a",
    }


def test_a_role_that_nobody_has_is_named(run: Run, tmp_path: Path) -> None:
    """Also where a profile covers unknown roles: a verdict is not passed off as knowledge."""
    file = write(tmp_path / "a.yaml", bound("to-come"))
    done = run("review", "-o", "json", "--profile", "pss-restricted", file)
    (element,) = json.loads(done.out)
    note = (
        "what its role gives is unknown: ClusterRole to-come is neither among the files nor in "
        "what they are judged by, so it needs rights/unknown-role"
    )
    assert (element["verdict"], element["notes"]) == ("allow", [note])
    told = f"{file}: RoleBinding team/to-come: {note}.\n"
    assert f"\n{told}" in run("review", "--profile", "pss-restricted", file).out
    for form in ("sarif", "github", "junit"):
        done = run("review", "-o", form, "--profile", "pss-restricted", file)
        assert done.err == f"sallyport: {told}"
    done = run("review", "--diff", file, "--profile", "pss-restricted", file)
    assert done.err == f"sallyport: {told}"


def test_a_broken_role_cannot_be_given(run: Run, tmp_path: Path) -> None:
    """What a role gives that kube-apiserver would not take is not guessed."""
    broken = rbac.role("tokens", {"verbs": ["get"], "resource": ["pods"]})
    element = binding_of(run, write(tmp_path / "a.yaml", broken, bound("tokens")))
    assert element["verdict"] == "error"
    assert "ClusterRole tokens: cannot be read" in element["findings"][0]["message"]


def test_a_role_that_collects_others_gives_theirs_and_says_what_is_not_known(
    run: Run, tmp_path: Path
) -> None:
    """Those of the files and of the folder; of a cluster only what has been collected there."""
    labels = {"metadata": {"name": "part", "labels": {"team": "yes"}}}
    part = {**rbac.role("part", TOKENS), **labels}
    selector = {"clusterRoleSelectors": [{"matchLabels": {"team": "yes"}}]}
    whole = {**rbac.role("whole", TOKENS), "rules": [], "aggregationRule": selector}
    for held, files in (([], [part]), ([part], [])):
        cluster = write(tmp_path / "cluster" / "a.yaml", *held).parent
        file = write(tmp_path / "a.yaml", *files, whole, bound("whole"))
        element = binding_of(run, "--cluster", cluster, file)
        assert privileges(element) == [TOKEN]
        assert element["notes"] == [
            "ClusterRole whole takes over the rules of other ClusterRoles: those that only the "
            "cluster has are not known here"
        ]


def test_a_difference_has_the_roles_of_each_state(run: Run, tmp_path: Path) -> None:
    """The binding stays as it is; what its role gives is new."""
    old = write(tmp_path / "old.yaml", rbac.role("r", rbac.rule([""], "pods", "get")), bound("r"))
    new = write(tmp_path / "new.yaml", rbac.role("r", TOKENS), bound("r"))
    done = run("review", "-o", "json", "--profile", "baseline", "--diff", old, new)
    (element,) = (e for e in json.loads(done.out)["objects"] if e["kind"] == "RoleBinding")
    assert (element["gained"], done.code) == ([TOKEN], 1)


def test_an_explanation_knows_the_roles_too(run: Run, tmp_path: Path) -> None:
    """`explain FILE` says of a binding what review does."""
    file = write(tmp_path / "a.yaml", rbac.role("tokens", TOKENS), bound("tokens"))
    cluster = write(tmp_path / "cluster" / "a.yaml").parent
    done = run("explain", "--as", "alice", "--cluster", cluster, file)
    assert TOKEN in done.out
