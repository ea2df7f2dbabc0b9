"""A Pod's labels of egress are what the gate sets as it is created, whoever writes what."""

from typing import Final

import pytest

from tests.api.egress.gate.conftest import PEOPLE, pod, soon, spec, until
from tests.harness.programs.client import ApiStatusError, Client, Json

ACCOUNT: Final = "egress.sallyport.dev/service-account"
WORKLOAD: Final = "egress.sallyport.dev/workload"
DUE: Final = {ACCOUNT: "trainer", WORKLOAD: "none"}

WAYS: Final = (
    {ACCOUNT: "other"},
    {ACCOUNT: None},
    {WORKLOAD: "Job.fetch"},
    {"egress.sallyport.dev/more": "x"},
)


def reserved(made: Json) -> Json:
    """Return the labels of egress that an object has."""
    labels = made["metadata"].get("labels") or {}
    return {key: value for key, value in labels.items() if key.startswith("egress.")}


async def test_pod_gets_the_gates_egress_labels(person: Client, closed: str) -> None:
    """Whatever its author wrote there, and beside the author's own."""
    wrong = pod(closed, labels={"app": "x", ACCOUNT: "other", WORKLOAD: "Job.fetch"})
    stored = await soon(lambda: person.create(wrong))
    assert reserved(stored) == DUE
    assert stored["metadata"]["labels"]["app"] == "x"
    plain = await person.create(pod(closed, "plain"))
    assert reserved(plain) == DUE


async def test_a_name_of_any_length_becomes_a_label(
    admin: Client, person: Client, closed: str
) -> None:
    """A service account's name may be longer than a label's value, or end in what none ends in."""
    name = "a" * 60 + ".b" * 40
    await admin.create_service_account(name, closed)
    made = pod(closed, "long")
    made["spec"]["serviceAccountName"] = name
    stored = await soon(lambda: person.create(made))
    value = reserved(stored)[ACCOUNT]
    assert len(value) == 63
    assert "--x" in value


async def test_controllers_pods_are_traced(admin: Client, person: Client, closed: str) -> None:
    """A Deployment's Pods, over its ReplicaSet; a Job's; and no label is in their templates."""
    template = {"metadata": {"labels": {"app": "x"}}, "spec": spec()}
    selector = {"matchLabels": {"app": "x"}}
    once = {"metadata": {}, "spec": spec() | {"restartPolicy": "Never"}}
    made = {
        ("apps/v1", "Deployment", "serve"): {"selector": selector, "template": template},
        ("batch/v1", "Job", "fetch"): {"template": once},
    }
    for (api_version, kind, name), said in made.items():
        item = {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": name, "namespace": closed},
            "spec": said,
        }
        await soon(lambda item=item: person.create(item))  # type: ignore[misc]

    async def traced() -> Json | None:
        _, found = await admin.request("GET", f"/api/v1/namespaces/{closed}/pods")
        labels = {each["metadata"]["labels"][WORKLOAD]: each for each in found["items"]}
        return found if {"Deployment.serve", "Job.fetch"} <= labels.keys() else None

    found = await until(traced)
    assert {reserved(each)[ACCOUNT] for each in found["items"]} == {"trainer"}
    _, sets = await admin.request("GET", f"/apis/apps/v1/namespaces/{closed}/replicasets")
    assert all(reserved(each["spec"]["template"]) == {} for each in sets["items"])


@pytest.mark.parametrize("subresource", ["", "/status", "/ephemeralcontainers", "/resize"])
async def test_nobody_changes_egress_labels_by_any_subresource(
    admin: Client, control: Client, person: Client, closed: str, subresource: str
) -> None:
    """Not by any subresource that carries metadata; administrators and control included.

    Where kube-apiserver itself drops the change, nothing is changed either.
    """
    stored = await soon(lambda: person.create(pod(closed)))
    path = f"/api/v1/namespaces/{closed}/pods/run"
    for client in (person, admin, control):
        for labels in WAYS:
            status, answer = await client.request(
                "PATCH",
                path + subresource,
                {"metadata": {"labels": labels}},
                content_type="application/merge-patch+json",
            )
            if subresource in {"", "/status"}:
                assert (status, "egress/labels" in answer["message"]) == (403, True)
            _, now = await admin.request("GET", path)
            assert reserved(now) == reserved(stored)


async def test_other_updates_go_on(admin: Client, person: Client, closed: str) -> None:
    """The author's labels, what a node reports, and the Pod's end."""
    made = pod(closed, finalizers=["example.com/wait"])
    await soon(lambda: person.create(made))
    path = f"/api/v1/namespaces/{closed}/pods/run"
    merge = "application/merge-patch+json"
    for where, change in (
        (path, {"metadata": {"labels": {"app": "y"}}}),
        (f"{path}/status", {"status": {"message": "well"}, "metadata": {"labels": {"b": "c"}}}),
    ):
        status, _ = await admin.request("PATCH", where, change, content_type=merge)
        assert status == 200
    await person.delete(made)
    status, _ = await admin.request(
        "PATCH", path, {"metadata": {"finalizers": None}}, content_type=merge
    )
    assert status == 200

    async def gone() -> bool | None:
        return True if (await admin.request("GET", path))[0] == 404 else None

    assert await until(gone)


async def test_a_binding_brings_none(admin: Client, person: Client, free: str) -> None:
    """A scheduler of somebody's own gets no label onto a Pod that has none."""
    await soon(lambda: person.create(pod(free)))
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "run", "namespace": free, "labels": {ACCOUNT: "x"}},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }
    scheduler = admin.as_user("own-scheduler", [PEOPLE, "system:masters"])
    for path in ("bindings", "pods/run/binding"):
        status, answer = await scheduler.request(
            "POST", f"/api/v1/namespaces/{free}/{path}", binding
        )
        assert (status, "egress/labels" in answer["message"]) == (403, True)
    _, now = await admin.request("GET", f"/api/v1/namespaces/{free}/pods/run")
    assert reserved(now) == {}
    assert "nodeName" not in now["spec"]


async def test_egress_labels_are_refused_outside_enrolled_namespaces(
    person: Client, admin: Client, free: str
) -> None:
    """A Pod gets none by itself, and is refused with one; so is an update."""
    stored = await soon(lambda: person.create(pod(free)))
    assert reserved(stored) == {}
    for client in (person, admin):
        with pytest.raises(ApiStatusError, match="egress/labels"):
            await client.create(pod(free, "marked", labels=dict(DUE)))
        with pytest.raises(ApiStatusError, match="egress/labels"):
            await client.patch(stored, {"metadata": {"labels": {ACCOUNT: "trainer"}}})


async def test_templates_are_told_early(person: Client, closed: str, free: str) -> None:
    """As the workload is submitted, with the template's path; enrolled or not."""
    template = {"metadata": {"labels": {"app": "x", ACCOUNT: "other"}}, "spec": spec()}
    for namespace in (closed, free):
        made = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "marked", "namespace": namespace},
            "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template},
        }
        with pytest.raises(ApiStatusError, match="egress/labels") as raised:
            await person.create(made)
        assert f"spec.template.metadata.labels[{ACCOUNT}]: is reserved" in str(raised.value)
