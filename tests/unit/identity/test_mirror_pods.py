"""Mirror Pods: a node shows what it already runs, and nobody else can pretend to."""

import pytest

from core.kubernetes.object_meta import ObjectMeta
from core.kubernetes.pod import Pod
from core.people.subject import Subject
from identity.subjects import is_mirror

MIRROR = Pod(ObjectMeta(name="etcd-0", annotations={"kubernetes.io/config.mirror": "f00"}))
NODE = Subject("system:node:aks-gpu-0", groups=["system:nodes", "system:authenticated"])


def test_node_that_shows_a_static_pod_is_left_alone() -> None:
    """User name, group and annotation together."""
    assert is_mirror(NODE, MIRROR)
    empty = Pod(ObjectMeta(annotations={"kubernetes.io/config.mirror": ""}))
    assert is_mirror(NODE, empty)


@pytest.mark.parametrize(
    "subject",
    [
        Subject("alice@example.com", groups=["system:authenticated"]),
        Subject("alice@example.com", groups=["system:nodes"]),
        Subject("system:node:aks-gpu-0", groups=["system:authenticated"]),
        Subject("system:node:aks-gpu-0"),
        Subject("node:aks-gpu-0", groups=["system:nodes"]),
        Subject("system:serviceaccount:kube-system:node", groups=["system:nodes"]),
    ],
)
def test_nobody_else_makes_a_mirror_pod(subject: Subject) -> None:
    """The annotation alone, the group alone, the name alone: judged like any Pod."""
    assert not is_mirror(subject, MIRROR)


@pytest.mark.parametrize("annotations", [None, {}, {"kubernetes.io/config.source": "file"}])
def test_node_that_makes_a_pod_of_its_own_is_judged(annotations: dict[str, str] | None) -> None:
    """Without the annotation it is an ordinary requester."""
    assert not is_mirror(NODE, Pod(ObjectMeta(annotations=annotations)))
