"""A Pod on its way through both passes, where a profile fills in what is absent."""

from typing import Any

import msgspec

from admission.judge import Judge
from core.decision.decision import Decision
from core.decision.request import Request
from tests.harness.oracles.json_patch import apply_patch
from tests.unit.admission.world import IMAGE, Folder, raw
from webhooks.review_encoder import Patches, mutation_patches

Json = dict[str, object]

ALL_DEFAULTS: Json = {
    "seccompProfile": {"type": "RuntimeDefault"},
    "capabilities": {"drop": ["ALL"]},
    "allowPrivilegeEscalation": False,
    "automountServiceAccountToken": False,
    "env": [
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void", "withoutResources": ["nvidia.com/*"]},
        {"name": "AMD_VISIBLE_DEVICES", "value": "void", "withoutResources": ["amd.com/gpu"]},
    ],
}

LAX = ("seccomp/unset", "capabilities/default", "container/privilege-escalation", "token/automount")
"""What a Pod needs that leaves out what ALL_DEFAULTS fill in."""


REST = ("container/**", "run-as/**", "limits/**", "capability/**")
"""What else the Pods here need."""


def with_defaults(
    folder: Folder, name: str, rank: int, *privileges: str, **defaults: object
) -> Folder:
    """Add a profile with defaults, which everyone may use."""
    folder.profile(name, rank, *privileges, catalogue=3)
    folder.documents[-1]["spec"]["defaults"] = defaults
    folder.grant("Group:system:authenticated", name)
    return folder.grant("ServiceAccount:train/default", name)


def bare(*, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """Return a Pod that says nothing of what can be filled in."""
    container = {"name": "main", "image": IMAGE, "resources": {"limits": {"memory": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "llama-0", **(metadata or {})},
        "spec": {"hostUsers": False, "containers": [container], **spec},
    }


async def mutated(judge: Judge, asked: Request) -> tuple[Decision, Patches, Request]:
    """Return what the mutating pass decides, its patch, and the request after it."""
    decision = await judge.mutate(asked, budget=5.0)
    patches = mutation_patches(asked, decision)
    assert asked.object is not None
    after = apply_patch(msgspec.json.decode(asked.object), patches)
    return decision, patches, msgspec.structs.replace(asked, submitted=raw(after))
