"""Kinds without Pod templates are read as the Pods that their operators make, where certain."""

from typing import Any

import pytest

from core.base.errors import InvalidObjectError
from core.kubernetes.pod_templates import PodTemplate
from core.kubernetes.workload_pods import templates_of

Json = dict[str, Any]


def argo(**spec: Any) -> list[PodTemplate]:
    """Return what a Workflow would make."""
    return templates_of("argoproj.io", "Workflow", {"spec": spec})


def spec_of(template: PodTemplate) -> Json:
    """Return the spec of a Pod."""
    found: Json = template.pod["spec"]
    return found


def test_each_step_with_a_container_of_its_own_is_a_pod() -> None:
    """Containers, scripts, sets of them, and those written within steps and tasks; no others."""
    inline = {"inline": {"script": {"image": "i"}}}
    found = argo(
        templates=[
            {"name": "a", "container": {"image": "a"}},
            {"name": "b", "containerSet": {"containers": [{"name": "x"}, {"name": "y"}]}},
            {"name": "c", "steps": [[{"template": "a"}, inline]]},
            {"name": "d", "dag": {"tasks": [inline]}},
            {"name": "e", "suspend": {}},
        ]
    )
    assert [each.path for each in found] == [
        "spec.templates[0]",
        "spec.templates[1]",
        "spec.templates[3].dag.tasks[0].inline",
        "spec.templates[2].steps[0][1].inline",
    ]
    assert all(each.partial for each in found)
    assert found[1].place("spec.containers[1].image") == (
        "spec.templates[1].containerSet.containers[1].image"
    )
    assert found[2].place("spec.containers[0].image").endswith(".inline.script.image")


def test_a_step_has_what_its_workflow_gives_it() -> None:
    """Its own field, else the default's, else the workflow's; each by its place."""
    (found,) = argo(
        hostNetwork=True,
        serviceAccountName="runner",
        securityContext={"runAsNonRoot": True},
        volumes=[{"name": "used", "hostPath": {"path": "/"}}, {"name": "unused"}],
        podMetadata={"annotations": {"a": "workflow", "b": "workflow"}},
        templateDefaults={"tolerations": [{"operator": "Exists"}]},
        templates=[
            {
                "container": {"image": "x", "volumeMounts": [{"name": "used"}]},
                "securityContext": {"runAsUser": 0},
                "metadata": {"annotations": {"a": "step"}},
            }
        ],
    )
    spec = spec_of(found)
    assert spec["serviceAccountName"] == "runner"
    assert spec["securityContext"] == {"runAsUser": 0}
    assert [volume["name"] for volume in spec["volumes"]] == ["used"]
    assert found.pod["metadata"]["annotations"] == {"a": "step", "b": "workflow"}
    assert {path: found.place(path) for path in PLACES} == PLACES


PLACES = {
    "spec.hostNetwork": "spec.hostNetwork",
    "spec.securityContext.runAsUser": "spec.templates[0].securityContext.runAsUser",
    "spec.volumes[0].hostPath": "spec.volumes[0].hostPath",
    "spec.tolerations[0]": "spec.templateDefaults.tolerations[0]",
    "metadata.annotations[b]": "spec.podMetadata.annotations[b]",
    "metadata.annotations[a]": "spec.templates[0].metadata.annotations[a]",
}


def test_an_image_with_a_parameter_is_left_to_the_pod() -> None:
    """Only the controller knows it; nothing else of the container is left out."""
    (found,) = argo(templates=[{"container": {"image": "{{inputs.image}}", "name": "main"}}])
    assert spec_of(found)["containers"] == [{"name": "main"}]
    assert not found.says("spec.containers[0].image")


def test_a_driver_has_its_fields_and_its_template() -> None:
    """The image of all where it has none, and the volumes that it mounts."""
    volumes = [{"name": "v", "hostPath": {"path": "/"}}, {"name": "w"}]
    driver = {"volumeMounts": [{"name": "v"}], "serviceAccount": "spark", "template": {"spec": {}}}
    value = {"spec": {"image": "i", "volumes": volumes, "driver": driver}}
    template, own = templates_of("sparkoperator.k8s.io", "SparkApplication", value)
    assert template.path == "spec.driver.template"
    spec = spec_of(own)
    assert (spec["containers"][0]["image"], spec["serviceAccountName"]) == ("i", "spark")
    assert [volume["name"] for volume in spec["volumes"]] == ["v"]
    assert own.place("spec.containers[0].image") == "spec.image"
    assert own.place("spec.containers[0].securityContext") == "spec.driver.securityContext"


def test_flinks_templates_run_as_its_account() -> None:
    """Unless they name their own; and the image is a Pod's all by itself."""
    manager = {"podTemplate": {"spec": {"serviceAccountName": "own"}}}
    value = {
        "spec": {
            "image": "flink",
            "serviceAccount": "flink",
            "podTemplate": {"spec": {}},
            "jobManager": manager,
        }
    }
    found = templates_of("flink.apache.org", "FlinkDeployment", value)
    assert [spec_of(each)["serviceAccountName"] for each in found] == ["flink", "own", "flink"]
    assert found[2].place("spec.containers[0].image") == "spec.image"


@pytest.mark.parametrize(("field", "partial"), [("containers", False), ("model", True)])
def test_a_predictor_is_a_pods_spec(field: str, *, partial: bool) -> None:
    """With a model a runtime gives it the rest; the model's own fields are a container's."""
    container = {"image": "i"}
    predictor = {field: [container] if field == "containers" else container, "hostIPC": True}
    value = {"spec": {"predictor": predictor}}
    (found,) = templates_of("serving.kserve.io", "InferenceService", value)
    assert found.partial is partial
    assert found.place("spec.hostIPC") == "spec.predictor.hostIPC"
    place = "spec.predictor.containers[0].image" if not partial else "spec.predictor.model.image"
    assert found.place("spec.containers[0].image") == place


def test_objects_within_objects_are_found_so_deep() -> None:
    """An AppWrapper in an AppWrapper; what lies deeper is judged when it is made."""
    inner: Json = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "x"}]}}
    group = "workload.codeflare.dev"
    found = []
    for _ in range(4):
        inner = {
            "apiVersion": f"{group}/v1beta2",
            "kind": "AppWrapper",
            "spec": {"components": [{"template": inner}]},
        }
        found.append(templates_of(group, "AppWrapper", inner))
    assert [len(each) for each in found] == [1, 1, 1, 0]
    assert found[1][0].place("spec.hostPID") == (
        "spec.components[0].template.spec.components[0].template.spec.hostPID"
    )


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"spec": "x"}, "spec"),
        ({"spec": {"replicatedJobs": {}}}, "spec.replicatedJobs"),
        ({"spec": {"replicatedJobs": [1]}}, "spec.replicatedJobs[0]"),
    ],
)
def test_what_lies_there_instead_is_named(value: Json, field: str) -> None:
    """An error with the field, never nothing found."""
    with pytest.raises(InvalidObjectError) as error:
        templates_of("jobset.x-k8s.io", "JobSet", value)
    assert error.value.field == field


def test_what_all_templates_share_is_bounded_together() -> None:
    """A thousand templates times a thousand aliases would take gigabytes; the error says where."""
    template = {"name": "a", "container": {"image": "a"}}
    with pytest.raises(InvalidObjectError, match="more than 20000 are not judged") as error:
        argo(templates=[template] * 1000, hostAliases=[{}] * 1000)
    assert error.value.field.startswith("spec.templates[")
