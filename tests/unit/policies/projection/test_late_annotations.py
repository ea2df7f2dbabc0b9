"""Annotations that reach a Pod after it was made: with a Binding, or with its status."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.projection.credentials import project_credential
from policies.projection.pods import project_annotations
from tests.harness.evidence import ROOT
from tests.harness.programs.client import read_objects

STARTS = (
    "dev.gvisor.flag.debug",
    "io.katacontainers.config",
    "io.kubernetes.cri-o.Devices",
    "io.kubernetes.cri.untrusted-workload",
    "io.microsoft.virtualmachine.lcow.bootfilesrootpath",
    "microsoft.com/hostprocess-container",
    "io.containers.trace-syscall",
    "run.oci.hooks.stderr",
    "org.systemd.property.X",
    "org.criu.config",
    "module.wasm.image/variant",
    "io.containerd.runc.v2.group",
    "com.github.containers.virtcontainers.x",
    "container.apparmor.security.beta.kubernetes.io/main",
    "container.seccomp.security.alpha.kubernetes.io/main",
    "seccomp.security.alpha.kubernetes.io/pod",
    "security.alpha.kubernetes.io/unsafe-sysctls",
    "scheduler.alpha.kubernetes.io/critical-pod",
)
WITHIN = ("crio.io", "cri-o.io", "nri.io", "nri.containerd.io", "noderesource.dev", "cdi.k8s.io")
OTHERS = (
    "cni.projectcalico.org/podIP",
    "k8s.v1.cni.cncf.io/network-status",
    "xcrio.io/a",
    "nri-io",
)
KEYS = st.one_of(
    st.sampled_from(STARTS),
    st.sampled_from(OTHERS),
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["", "a.", "a", "a.b."]),
        st.sampled_from([*WITHIN, "devices.gke.io", "dev.gvisor.x"]),
        st.sampled_from(["", "/a", ".main", "a"]),
    ),
)


def condition() -> str:
    """Return the expression that chooses which changes of a status come to the gate."""
    (found,) = (
        each["expression"]
        for item in read_objects(ROOT / "deploy/webhooks.yaml")
        for webhook in item["webhooks"]
        if webhook["name"] == "validate.sallyport.dev"
        for each in webhook["matchConditions"]
    )
    return str(found)


ASKED = re.compile("".join(re.findall(r"r'([^']*)'", condition())))


@given(KEYS)
def test_the_webhook_lets_every_annotation_come_that_is_read(key: str) -> None:
    """And none besides but Sallyport's own: a status changes often."""
    assert bool(ASKED.search(key)) == bool(project_annotations({key: "unconfined"}))


def test_the_webhook_lets_sallyports_notes_come() -> None:
    """They would name somebody else, or another profile."""
    assert ASKED.search("sallyport.dev/requester")
    assert ASKED.search("sallyport.dev/profile")


@pytest.mark.parametrize("key", STARTS)
def test_a_bindings_annotations_are_seen(key: str) -> None:
    """kube-apiserver copies them onto the Pod."""
    raw = msgspec.json.encode({"metadata": {"name": "a", "annotations": {key: "x", "b": "c"}}})
    assert list(project_credential("Binding", "a", raw).annotations) == [key]
