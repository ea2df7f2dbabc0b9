"""`sallyport preflight`: what it has not seen it never calls known."""

import json
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from tests.harness.evidence import ROOT
from tests.tools.openapi import PINS
from tests.unit.cli.conftest import Answers, Json, Run, Serve
from tests.unit.cli.preflight.openapi_answers import cluster_answers, definition, definitions

SCHEMA: Final = ROOT / "docs" / "reference" / "preflight.schema.json"
CONFIG_MAPS: Final = "/api/v1/namespaces/sallyport-system/configmaps"
ADDED: Final = f"{CONFIG_MAPS}/sallyport-fields"
SPEC: Final = definition("core/PodSpec")


def write(folder: Path, document: object) -> Path:
    """Return a file with a document."""
    path = folder / "swagger.json"
    path.write_text(json.dumps(document))
    return path


def whole(**changed: Any) -> Json:
    """Return Kubernetes' OpenAPI with some definitions changed; None takes one away."""
    found = {**definitions(), **changed}
    return {"definitions": {name: each for name, each in found.items() if each is not None}}


def test_a_file_of_which_each_field_is_known_is_told_so(run: Run, tmp_path: Path) -> None:
    """The exit code is 0, and the version that the file says is repeated."""
    document = {**whole(), "info": {"version": "v1.37.2"}}
    done = run("preflight", "--openapi", write(tmp_path, document))
    assert (done.code, done.err) == (0, "")
    assert "Each field of v1.37.2 is known." in done.out


def test_a_field_that_no_release_knows_is_named(run: Run, tmp_path: Path) -> None:
    """One is one field; in JSON it stands alone, and the JSON fits its schema."""
    document = whole()
    document["definitions"][SPEC]["properties"]["example"] = {"type": "string"}
    path = write(tmp_path, document)
    done = run("preflight", "--openapi", path)
    assert done.code == 1
    assert "1 field of this version of Kubernetes is not known:\n  core/PodSpec.example" in done.out
    printed = json.loads(run("preflight", "--openapi", path, "-o", "json").out)
    assert printed["unknown"] == ["core/PodSpec.example"]
    jsonschema.validate(printed, json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ({"definitions": {}}, "core/Pod"),
        ({}, "core/Pod"),
        (whole(**{SPEC: None}), "core/PodSpec"),
        (whole(**{SPEC: {}}), "core/PodSpec"),
        (whole(**{definition("core/Pod"): None}), "core/Pod"),
        (whole(**{definition("core/Container"): {"properties": {}}}), "core/Container"),
        (whole(**{definition("networking/NetworkPolicy"): None}), "networking/NetworkPolicy"),
    ],
    ids=["empty", "nothing", "no-spec", "bare-spec", "no-pod", "no-container", "no-policy"],
)
def test_a_file_that_says_nothing_of_a_kind_is_an_error(
    run: Run, tmp_path: Path, document: Json, names: str
) -> None:
    """What is missing is named; "known" is said of nothing."""
    done = run("preflight", "--openapi", write(tmp_path, document))
    assert (done.code, done.out) == (64, "")
    assert "says nothing of" in done.err
    assert names in done.err
    assert "api/openapi-spec/swagger.json" in done.err


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"definitions": {definition("core/Pod"): 5}}, f"definitions.{definition('core/Pod')}: "),
        ({"definitions": [1]}, "definitions: "),
        ({"definitions": "x"}, "definitions: "),
        ({"components": 5}, "components: "),
        ({**whole(), "info": "x"}, "info: "),
        (whole(**{SPEC: {"properties": None}}), f"definitions.{SPEC}.properties: "),
        (whole(**{SPEC: {"properties": []}}), f"definitions.{SPEC}.properties: "),
        (whole(**{SPEC: {"properties": {"a": None}}}), f"definitions.{SPEC}.properties.a: "),
        (whole(**{SPEC: {"properties": {"a": "x"}}}), f"definitions.{SPEC}.properties.a: "),
        (whole(**{SPEC: {"properties": {"a": [1]}}}), f"definitions.{SPEC}.properties.a: "),
        ([1], "is no JSON object"),
    ],
)
def test_a_file_that_is_no_openapi_is_an_error_with_the_field(
    run: Run, tmp_path: Path, document: object, field: str
) -> None:
    """It is wrong usage, never a traceback, and never an unknown field."""
    path = write(tmp_path, document)
    done = run("preflight", "--openapi", path)
    assert (done.code, done.out) == (64, "")
    assert f"--openapi {path}: {field}" in done.err
    assert "Traceback" not in done.err


def test_a_file_that_is_not_there_is_named_with_its_flag(run: Run, tmp_path: Path) -> None:
    """As wrong usage."""
    done = run("preflight", "--openapi", tmp_path / "none.json")
    assert done.code == 64
    assert f"--openapi {tmp_path / 'none.json'}: cannot be read" in done.err


@pytest.mark.parametrize("flag", ["--kubeconfig", "--config"])
def test_a_file_and_a_cluster_are_not_given_together(run: Run, tmp_path: Path, flag: str) -> None:
    """A flag that nothing reads is refused."""
    done = run("preflight", "--openapi", write(tmp_path, whole()), flag, tmp_path / "none")
    assert (done.code, done.out) == (64, "")
    assert "leave --kubeconfig and --config out" in done.err


def without(document: Json, of: str, *fields: str) -> Json:
    """Return the definitions with these fields of a type taken away."""
    properties = document["definitions"][definition(of)]["properties"]
    for field in fields:
        del properties[field]
    return document


@pytest.mark.parametrize("version", ["", "unversioned", "v1.37.2", "v1.38.0"])
def test_an_openapi_that_lacks_known_fields_is_incomplete(
    run: Run, tmp_path: Path, version: str
) -> None:
    """A PodSpec that is cut says nothing of the fields that it lacks: they are named."""
    document = without(whole(), "core/PodSpec", "hostPID", "containers")
    path = write(tmp_path, {**document, "info": {"version": version}})
    done = run("preflight", "--openapi", path)
    assert (done.code, done.err) == (2, "")
    assert "must have 2 fields that the OpenAPI lacks: it is incomplete, or of another" in done.out
    assert "\n  core/PodSpec.containers\n  core/PodSpec.hostPID\n" in done.out
    printed = json.loads(run("preflight", "--openapi", path, "-o", "json").out)
    assert printed["lacking"] == ["core/PodSpec.containers", "core/PodSpec.hostPID"]
    jsonschema.validate(printed, json.loads(SCHEMA.read_text()))


def test_a_field_of_one_minor_is_missed_in_that_minor_alone(run: Run, tmp_path: Path) -> None:
    """`evictionResponders` is new in 1.37: of another version nobody knows whether it has it."""
    document = without(whole(), "core/PodSpec", "evictionResponders")
    for version, code in (("v1.37.2", 2), ("v1.36.3", 0), ("v1.38.0", 0), ("unversioned", 0)):
        path = write(tmp_path, {**document, "info": {"version": version}})
        assert run("preflight", "--openapi", path).code == code, version


def test_what_is_not_shown_weighs_more_than_what_is_unknown(run: Run, tmp_path: Path) -> None:
    """Both are said."""
    document = without(whole(), "core/PodSpec", "containers")
    document["definitions"][SPEC]["properties"]["example"] = {"type": "string"}
    done = run("preflight", "--openapi", write(tmp_path, document))
    assert done.code == 2
    assert "core/PodSpec.example" in done.out
    assert "core/PodSpec.containers" in done.out


def test_many_fields_that_are_lacking_are_counted(run: Run, tmp_path: Path) -> None:
    """The first are named; JSON names all."""
    document = whole()
    document["definitions"][SPEC]["properties"] = {"hostPID": {"type": "boolean"}}
    path = write(tmp_path, document)
    out = run("preflight", "--openapi", path).out
    assert "more (-o json has them)" in out
    assert len(out.splitlines()) < 30
    assert len(json.loads(run("preflight", "--openapi", path, "-o", "json").out)["lacking"]) > 30


def without_group(folder: str, versions: Json) -> Answers:
    """Return a cluster that shows nothing of a group's kinds, and serves these versions of it."""
    schemas = {name: each for name, each in definitions().items() if f".api.{folder}." not in name}
    index: Json = {"api/v1": {}, **{path.removeprefix("/"): {} for path in versions}}
    return {
        **cluster_answers(),
        "/openapi/v3": (200, {"paths": index}),
        "/openapi/v3/api/v1": (200, {"components": {"schemas": schemas}}),
        "/api/v1": (200, {"resources": [{"name": "pods", "kind": "Pod"}]}),
        **{path: (200, {"resources": kinds}) for path, kinds in versions.items()},
    }


@pytest.mark.parametrize(
    "versions",
    [{}, {"/apis/node.k8s.io/v9": [{"name": "others", "kind": "Other"}]}],
    ids=["no-group", "no-kind"],
)
def test_kinds_that_a_cluster_does_not_serve_are_named(
    run: Run, serve: Serve, versions: Json
) -> None:
    """The others are compared: a cluster can switch a group off, or a version of it."""
    done = run("preflight", "--kubeconfig", serve(without_group("node", versions)))
    assert (done.code, done.err) == (0, "")
    assert "Not served, so not compared: node.k8s.io/RuntimeClass." in done.out
    assert "Each field of v1.37.2 is known." in done.out


@pytest.mark.parametrize(
    ("versions", "says"),
    [
        (
            {"/apis/node.k8s.io/v1": [{"name": "runtimeclasses", "kind": "RuntimeClass"}]},
            "says nothing of node/RuntimeClass",
        ),
        ({"/apis/node.k8s.io/v1": None}, "GET /apis/node.k8s.io/v1: resources: "),
    ],
)
def test_a_kind_that_is_served_and_not_shown_is_an_error(
    run: Run, serve: Serve, versions: Json, says: str
) -> None:
    """So is a group that does not say what it serves: nothing is known of its kinds' fields."""
    done = run("preflight", "--kubeconfig", serve(without_group("node", versions)))
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def test_a_kind_that_another_group_lists_is_served(run: Run, serve: Serve) -> None:
    """TokenRequests stand below the core group's service accounts."""
    answers = without_group("authentication", {})
    token = {
        "name": "serviceaccounts/token",
        "kind": "TokenRequest",
        "group": "authentication.k8s.io",
    }
    answers["/api/v1"] = (200, {"resources": [token]})
    done = run("preflight", "--kubeconfig", serve(answers))
    assert done.code == 2
    assert "says nothing of authentication/TokenRequest" in done.err


def test_a_cluster_of_which_each_field_is_known_is_told_so(run: Run, serve: Serve) -> None:
    """Its version is said, and nothing stands unread."""
    done = run("preflight", "--kubeconfig", serve(cluster_answers()), "-o", "json")
    assert done.code == 0, done.err
    printed = json.loads(done.out)
    jsonschema.validate(printed, json.loads(SCHEMA.read_text()))
    assert (printed["version"], printed["unknown"], printed["unread"]) == ("v1.37.2", [], [])
    assert (printed["lacking"], printed["notServed"]) == ([], [])


@pytest.mark.parametrize(
    ("path", "answer", "says"),
    [
        ("/openapi/v3", (404, {}), "says nothing of core/Pod"),
        ("/openapi/v3", (200, {"paths": {}}), "says nothing of core/Pod"),
        ("/openapi/v3", (200, {"paths": {"apis/apps/v1": {}}}), "says nothing of core/Pod"),
        ("/openapi/v3", (200, {"paths": 5}), "GET /openapi/v3: paths: "),
        ("/openapi/v3", (403, {"message": "no"}), "user may not get /openapi/v3"),
        ("/openapi/v3/api/v1", (200, {"components": {"schemas": 5}}), "components.schemas: "),
        ("/version", (200, {"gitVersion": 5}), "GET /version: gitVersion: "),
    ],
)
def test_a_cluster_that_shows_no_fields_is_an_error(
    run: Run, serve: Serve, path: str, answer: tuple[int, object], says: str
) -> None:
    """It answered nothing of use: that is no known field, and no unknown one."""
    done = run("preflight", "--kubeconfig", serve({**cluster_answers(), path: answer}))
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def rows(table: object, key: str = "table.json") -> tuple[int, Json]:
    """Return kube-apiserver's answer with a ConfigMap of rows."""
    text = table if isinstance(table, str) else json.dumps(table)
    return 200, {"kind": "ConfigMap", "metadata": {}, "data": {key: text}}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (rows("{bad"), "data[table.json]"),
        (rows({}, "table.yaml"), "data[table.json]: is missing: write the table under this key"),
        ((200, {"kind": "ConfigMap", "metadata": {}}), "data[table.json]: is missing"),
        (
            rows({"types": {"PodSpec": {"a": ["harmless: so"]}}}),
            "types[PodSpec]: a type must be GROUP/NAME",
        ),
        (
            rows({"types": {"core/v1/PodSpec": {"a": ["harmless: so"]}}}),
            "types[core/v1/PodSpec]: a type must be GROUP/NAME",
        ),
        (
            rows({"types": {"core/PodSpec": {"a": ["fine"]}}}),
            "types[core/PodSpec][a][0]: must begin with 'judged: '",
        ),
        (
            rows({"types": {"core/PodSpec": {"a": ["harmless:"]}}}),
            "types[core/PodSpec][a][0]: must begin with 'judged: '",
        ),
        (
            rows({"types": {"core/PodSpec": {"a": ["harmless: so", "Example"]}}}),
            "types[core/PodSpec][a][1]: a type must be GROUP/NAME",
        ),
        (
            rows({"types": {"core/PodSpec": {"a": "harmless: so"}}}),
            "types[core/PodSpec][a]: Expected `array`",
        ),
        (rows({"kinds": {"Pod": "core/Pod"}}), "kinds[Pod]: must be GROUP/KIND"),
        ((403, {"message": "no"}), "ConfigMap sallyport-fields: the kubeconfig's user may not get"),
    ],
)
def test_rows_that_do_not_count_are_told(
    run: Run, serve: Serve, answer: tuple[int, object], says: str
) -> None:
    """With the field and the fix; the fields of the release are compared all the same."""
    kubeconfig = serve({**cluster_answers(), ADDED: answer})
    done = run("preflight", "--kubeconfig", kubeconfig)
    assert done.code == 0, done.err
    assert says in next(line for line in done.out.splitlines() if line.startswith("Not read: "))
    printed = json.loads(run("preflight", "--kubeconfig", kubeconfig, "-o", "json").out)
    (unread,) = printed["unread"]
    assert says in unread


def test_rows_that_were_shipped_count(run: Run, serve: Serve) -> None:
    """As docs/operate/fields.md writes them."""
    answers = cluster_answers()
    properties = answers["/openapi/v3/api/v1"][1]["components"]["schemas"][SPEC]["properties"]
    properties["example"] = {"type": "string"}
    assert run("preflight", "--kubeconfig", serve(answers)).code == 1
    answers[ADDED] = rows(
        {"format": 1, "types": {"core/PodSpec": {"example": ["harmless: it only delays"]}}}
    )
    done = run("preflight", "--kubeconfig", serve(answers))
    assert (done.code, "Not read" in done.out) == (0, False), done.out


def test_who_may_not_try_a_pod_is_told_which_right_is_missing(run: Run, serve: Serve) -> None:
    """The fields are compared all the same."""
    answers = {**cluster_answers(), "/api/v1/namespaces/default/pods": (403, {"message": "no"})}
    done = run("preflight", "--kubeconfig", serve(answers))
    assert done.code == 0, done.err
    assert "user may not create Pods in the namespace default (a dry run)" in done.out


@pytest.mark.parametrize("minor", PINS)
def test_an_older_minor_is_compared_though_it_lacks_newer_types(
    run: Run, tmp_path: Path, minor: str
) -> None:
    """A type that only fields of another minor hold is not missing, nor are its fields."""
    for version in ("", f"v{minor}.0"):
        document = {"definitions": definitions(minor), "info": {"version": version}}
        done = run("preflight", "--openapi", write(tmp_path, document))
        assert (done.code, done.err) == (0, "")
