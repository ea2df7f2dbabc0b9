"""A step beside what a profile is for, and the steps that come up often."""

import copy
from dataclasses import dataclass, field
from typing import Any

from tests.harness.published.public_manifests import Pod


@dataclass(frozen=True)
class Misuse:
    """A step astray: what is added to the Pod, and what that needs beyond the profile."""

    profile: str
    what: str
    needs: frozenset[str]
    spec: dict[str, Any] = field(default_factory=dict)
    container: dict[str, Any] = field(default_factory=dict)
    volume: dict[str, Any] | None = None
    """Mounted writably unless it has `readOnly`."""

    def apply(self, pod: Pod) -> None:
        """Take the step, in place."""
        _merge(pod["spec"], self.spec)
        container = pod["spec"]["containers"][0]
        _merge(container, self.container)
        if self.volume is not None:
            source = {key: value for key, value in self.volume.items() if key != "readOnly"}
            mount: dict[str, Any] = {"name": "astray", "mountPath": "/astray"}
            if self.volume.get("readOnly"):
                mount["readOnly"] = True
            pod["spec"].setdefault("volumes", []).append({"name": "astray", **source})
            container.setdefault("volumeMounts", []).append(mount)


def _merge(into: dict[str, Any], what: dict[str, Any]) -> None:
    for key, value in what.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


def host_path(path: str, *, read_only: bool = False) -> dict[str, Any]:
    """Return the source of a hostPath volume, for `Misuse.volume`."""
    return {"hostPath": {"path": path}, **({"readOnly": True} if read_only else {})}


def env(name: str, value: str) -> dict[str, Any]:
    """Return a container one environment variable."""
    return {"env": [{"name": name, "value": value}]}


def add(*capabilities: str) -> dict[str, Any]:
    """Return a container capabilities."""
    return {"securityContext": {"capabilities": {"add": list(capabilities)}}}


TAG = {"image": "registry.example/tool:latest"}
NO_MEMORY = {"resources": {"limits": {"memory": None}}}
WRITABLE = {"securityContext": {"readOnlyRootFilesystem": False}}
PRIVILEGED = {"securityContext": {"privileged": True, "allowPrivilegeEscalation": None}}
ALL_GPUS = env("NVIDIA_VISIBLE_DEVICES", "all")
FOREIGN = {
    "projected": {"sources": [{"serviceAccountToken": {"audience": "vault", "path": "token"}}]}
}


def of(profile: str, *found: tuple[str, set[str], dict[str, Any]]) -> list[Misuse]:
    """Return the misuses of a profile from (what, what it needs, how)."""
    return [Misuse(profile, what, frozenset(needs), **how) for what, needs, how in found]
