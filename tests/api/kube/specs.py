"""What a ContainerProfile's `spec` can say, and those about `defaults` that are right and wrong."""

from typing import Any

Spec = dict[str, Any]
GOOD: Spec = {"rank": 1, "catalogue": 1, "privileges": ["host/network"]}


def spec_with(**fields: Any) -> Spec:
    """Return GOOD with other fields."""
    return {**GOOD, **fields}


def _default(**fields: Any) -> Spec:
    return spec_with(defaults=fields)


def _env(**fields: Any) -> Spec:
    variable = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}
    return _default(env=[{**variable, "withoutResources": ["nvidia.com/*"], **fields}])


DEFAULTS_ACCEPTED: dict[str, Spec] = {
    "no defaults": spec_with(defaults={}),
    "defaults are null": spec_with(defaults=None),
    "a default variable": _env(),
    "for all containers": _env(withoutResources=[]),
    "all defaults": _default(
        seccompProfile={"type": "RuntimeDefault"},
        capabilities={"drop": ["ALL", "NET_RAW"]},
        allowPrivilegeEscalation=False,
        automountServiceAccountToken=False,
        env=[],
    ),
    "nulls among defaults": _default(
        seccompProfile=None,
        capabilities=None,
        allowPrivilegeEscalation=None,
        automountServiceAccountToken=None,
        env=None,
    ),
    "nulls in a variable": _env(value=None, withoutResources=None),
    "no device": _env(value="none"),
    "empty device": _env(value=""),
    "a variable of libraries that is empty": _env(name="CUDA_VISIBLE_DEVICES", value=""),
    "any value of another variable": _env(name="VISIBLE_DEVICES", value="all"),
    "most variables": spec_with(defaults={"env": [{"name": f"V{index}"} for index in range(16)]}),
}

DEFAULTS_REFUSED: dict[str, Spec] = {
    "defaults of another kind": spec_with(defaults={"runAsUser": 1}),
    "defaults are a list": spec_with(defaults=[]),
    "default user": _default(runAsNonRoot=True),
    "default without a value": _default(unknown=None),
    "seccomp is absent in it": _default(seccompProfile={}),
    "seccomp from a file": _default(seccompProfile={"type": "Localhost"}),
    "seccomp unconfined": _default(seccompProfile={"type": "Unconfined"}),
    "seccomp with more": _default(
        seccompProfile={"type": "RuntimeDefault", "localhostProfile": "a"}
    ),
    "drops nothing": _default(capabilities={"drop": []}),
    "drops null": _default(capabilities={"drop": None}),
    "adds capabilities": _default(capabilities={"drop": ["ALL"], "add": ["CHOWN"]}),
    "drops lower case": _default(capabilities={"drop": ["all"]}),
    "drops newline": _default(capabilities={"drop": ["ALL\n"]}),
    "drops a long name": _default(capabilities={"drop": ["A" * 64]}),
    "drops too much": _default(capabilities={"drop": [f"A{index}" for index in range(65)]}),
    "escalation": _default(allowPrivilegeEscalation=True),
    "escalation as text": _default(allowPrivilegeEscalation="false"),
    "token": _default(automountServiceAccountToken=True),
    "all devices": _env(value="all"),
    "another vendor's devices": _env(name="X_VISIBLE_DEVICES", value="0"),
    "devices by another variable": _env(name="NVIDIA_GDS", value="enabled"),
    "void in capitals": _env(value="VOID"),
    "variable without a name": spec_with(defaults={"env": [{"value": "v"}]}),
    "variable with an empty name": _env(name=""),
    "variable with a number": _env(value=1),
    "variable with an unknown field": _env(valueFrom={}),
    "variable with too long a value": _env(value="v" * 1025),
    "variable with an empty resource": _env(withoutResources=[""]),
    "too many variables": spec_with(
        defaults={"env": [{"name": f"V{index}"} for index in range(17)]}
    ),
    "too many resources": _env(withoutResources=["nvidia.com/*"] * 17),
}
