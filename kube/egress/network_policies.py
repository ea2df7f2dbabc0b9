"""Network policies as the controller of egress looks at them: whose they are, and what they say.

Of a policy of Sallyport's own only a digest is kept: one may have half a megabyte.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error

FIELD_MANAGER: Final = "sallyport-egress"

POLICY_PATHS: Final = {
    "NetworkPolicy": "/apis/networking.k8s.io/v1",
    "CiliumNetworkPolicy": "/apis/cilium.io/v2",
    "ClusterNetworkPolicy": "/apis/policy.networking.k8s.io/v1alpha2",
}
"""Where each kind that Sallyport generates lies."""

PLURALS: Final = {
    "NetworkPolicy": "networkpolicies",
    "CiliumNetworkPolicy": "ciliumnetworkpolicies",
    "ClusterNetworkPolicy": "clusternetworkpolicies",
}

_APART: Final = frozenset({"apiVersion", "kind", "metadata", "status"})


class LivePolicy(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a policy."""

    kind: str
    namespace: str
    name: str
    uid: str
    version: str
    ours: bool
    """Whether Sallyport made it: by its label, or by its field manager, which is left where
    somebody takes the label away."""
    allowlist: str
    """The EgressAllowlist that it says, if it says one."""
    digest: bytes
    """See `digest_of`."""
    spec: bytes = b""
    """JSON of the `spec` of a policy of others that says something of egress; empty for others."""

    @property
    def path(self) -> str:
        """Where it lies."""
        return policy_path(self.kind, self.namespace, self.name)


def policy_path(kind: str, namespace: str, name: str) -> str:
    """Return the path of a policy; `namespace` is empty for one of the cluster."""
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{POLICY_PATHS[kind]}{within}/{PLURALS[kind]}/{name}"


def digest_of(policy: Mapping[str, Any]) -> bytes:
    """Digest all that a policy says: every field but `metadata` and `status`, and our own marks.

    Null and empty lists are as absent, as kube-apiserver stores them.
    """
    metadata = policy.get("metadata") or {}
    marks = [
        {
            key: value
            for key, value in (metadata.get(field) or {}).items()
            if key.startswith(f"{names.GROUP}/") or key == names.MANAGED_BY_LABEL
        }
        for field in ("labels", "annotations")
    ]
    said = {key: _bare(value) for key, value in policy.items() if key not in _APART}
    canonical = msgspec.json.encode((marks, said), order="deterministic")
    return hashlib.sha256(canonical).digest()


def read_policy(raw: bytes | msgspec.Raw, kind: str) -> LivePolicy:
    """Read a policy of a kind from its JSON.

    Raises:
        InvalidObjectError: it is none, which kube-apiserver never says.
    """
    try:
        policy = msgspec.json.decode(raw)
        return live_policy(policy, kind)
    except DECODE_ERRORS as error:
        raise decode_error(kind, error) from error
    except (KeyError, TypeError, AttributeError):
        raise InvalidObjectError(kind, "", "is no policy") from None


def live_policy(policy: Mapping[str, Any], kind: str) -> LivePolicy:
    """Return what is kept of a policy as kube-apiserver sent it."""
    metadata = policy["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    ours = labels.get(names.MANAGED_BY_LABEL) == "sallyport" or _wrote(metadata)
    foreign = not ours and _of_egress(policy.get("spec") or {}, kind)
    return LivePolicy(
        kind,
        metadata.get("namespace", ""),
        metadata["name"],
        metadata.get("uid", ""),
        metadata.get("resourceVersion", ""),
        ours,
        annotations.get(names.ALLOWLIST_ANNOTATION, ""),
        digest_of(policy),
        msgspec.json.encode(policy["spec"]) if foreign else b"",
    )


def _wrote(metadata: Mapping[str, Any]) -> bool:
    """Return whether the controller of egress set any of its fields."""
    return any(each.get("manager") == FIELD_MANAGER for each in metadata.get("managedFields") or ())


def _of_egress(spec: Mapping[str, Any], kind: str) -> bool:
    """Return whether it opens something on the way out.

    `policyTypes` may leave that to `egress`.
    """
    return kind == "NetworkPolicy" and bool(spec.get("egress"))


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        bare = {key: _bare(each) for key, each in value.items()}
        return {key: each for key, each in bare.items() if each is not None and each != []}
    if isinstance(value, list):
        return [_bare(each) for each in value]
    return value
