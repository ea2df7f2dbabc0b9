"""Ways around the sandbox that one Pod or one workload is: what is asked, and how it ends."""

from typing import Any, Final

from tests.api.sandbox.conftest import BOXED, LABEL, RISKY, WIDE, deployment, pod_of
from tests.harness.programs.client import Json

_PROFILE: Final = "sallyport.dev/profile"


def annotated(**annotations: str) -> Json:
    """Return a Pod with annotations."""
    made = pod_of("tried")
    made["metadata"]["annotations"] = annotations
    return made


def owned(kind: str, name: str) -> Json:
    """Return a Pod that names an owner that never made it."""
    made = pod_of("tried")
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "none"}
    made["metadata"]["ownerReferences"] = [reference]
    return made


def labelled(value: str) -> Json:
    """Return a Pod that says otherwise by the label."""
    made = pod_of("tried")
    made["metadata"]["labels"][LABEL] = value
    return made


def named(runtime: str | None) -> Json:
    """Return a Pod with a RuntimeClass."""
    return pod_of("tried", runtimeClassName=runtime)


def container(**more: Any) -> Json:
    """Return a Pod whose container says more."""
    made = pod_of("tried")
    made["spec"]["containers"][0] |= more
    return made


_CLASS: Final = "must run with gvisor"
_FEATURE: Final = "cannot run under the RuntimeClass gvisor"
_STEERS: Final = "steers the container runtime"

REFUSED: Final[dict[str, tuple[Json, str]]] = {
    "the empty class": (named(""), "resource name may not be empty"),
    "another class with the same handler": (named("also-runsc"), _CLASS),
    "a class of the ordinary runtime": (named("plain"), _CLASS),
    "a class that there is not": (named("nowhere"), 'RuntimeClass "nowhere" not found'),
    "a class in other letters": (named("GVISOR"), 'RuntimeClass "GVISOR" not found'),
    "a class with a space": (named("gvisor "), 'RuntimeClass "gvisor " not found'),
    "overhead of one's own": (
        pod_of("tried", overhead={"cpu": "1m"}),
        "Overhead doesn't match RuntimeClass's",
    ),
    "a selector for other nodes": (
        pod_of("tried", nodeSelector={"example.com/pool": "other"}),
        "conflict: runtimeClass.scheduling.nodeSelector",
    ),
    "the node's network": (pod_of("tried", hostNetwork=True), _FEATURE),
    "the node's processes": (pod_of("tried", hostPID=True), _FEATURE),
    "the node's memory": (pod_of("tried", hostIPC=True), _FEATURE),
    "a privileged container": (container(securityContext={"privileged": True}), _FEATURE),
    "a flag of the runtime": (annotated(**{"dev.gvisor.flag.host-uds": "all"}), _STEERS),
    "a setting of the runtime": (annotated(**{"dev.gvisor.internal.debug": "true"}), _STEERS),
    "a root file system of one's own": (
        annotated(**{"dev.gvisor.spec.rootfs.source": "/"}),
        _STEERS,
    ),
    "the annotation for the handler": (
        annotated(**{"io.kubernetes.cri.runtime-handler": "runc"}),
        _STEERS,
    ),
    "the older annotation for trust": (
        annotated(**{"io.kubernetes.cri.untrusted-workload": "false"}),
        _STEERS,
    ),
    "a template with another class": (deployment("tried", runtimeClassName="also-runsc"), _CLASS),
    "a template with the empty class": (
        deployment("tried", runtimeClassName=""),
        'spec.template.spec.runtimeClassName: Invalid value: ""',
    ),
    "a template that cannot run there": (deployment("tried", hostNetwork=True), _FEATURE),
}
"""What is refused in a namespace that requires the sandbox, and by which words."""

INSIDE: Final[dict[str, Json]] = {
    "a label that says never": labelled("never"),
    "a label that says nothing": labelled(""),
    "a profile without a sandbox": annotated(**{_PROFILE: WIDE}),
    "a profile that goes by risk": annotated(**{_PROFILE: RISKY}),
    "an owner that did not make it": owned("ReplicaSet", "none"),
    "a node of one's choice": pod_of("tried", nodeName="node-1"),
    "a name that is made up later": {
        **pod_of("tried"),
        "metadata": {"generateName": "tried-", "namespace": BOXED},
    },
    "another scheduler": pod_of("tried", schedulerName="mine"),
}
"""What is put into the sandbox nevertheless."""
