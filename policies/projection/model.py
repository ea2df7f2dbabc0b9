"""The projection: the part of an object that policies see, and all they see.

Its published schema is `policies/rego/schema/projection.json`. What no rule reads stays out: small
inputs are fast inputs, and secrets cannot reach a policy that never gets them. Paths are from the
object's root, so that a finding can name the field its author wrote.
"""

from typing import Final

import msgspec

from core.kubernetes import pod as k8s
from policies.projection.containers import Container
from policies.projection.hints import Hint
from policies.projection.volumes import Token, Volume


class _Struct(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """Frozen; absent fields are left out when encoded."""


class Toleration(_Struct, frozen=True):
    """A toleration that the Pod's author wrote."""

    path: str
    key: str = ""
    operator: str = ""


class HostAlias(_Struct, frozen=True):
    """Names that the Pod resolves by itself."""

    path: str
    hostnames: list[str] = []


class DeviceRequest(_Struct, frozen=True):
    """A request of a ResourceClaim."""

    path: str
    admin_access: bool = False


class DeviceConfig(_Struct, frozen=True):
    """Opaque settings for a driver, in a ResourceClaim."""

    path: str
    driver: str


class GrantedRule(_Struct, frozen=True):
    """A rule of a role, at the field that gives it."""

    path: str
    verbs: list[str] = []
    api_groups: list[str] = []
    resources: list[str] = []
    resource_names: list[str] = []
    urls: list[str] = []
    """nonResourceURLs: they count where the rule holds everywhere."""


class BindingSubject(_Struct, frozen=True):
    """Someone to whom a binding gives its role."""

    path: str
    kind: str
    name: str
    namespace: str = ""
    """Of a ServiceAccount."""


class AggregationSelector(_Struct, frozen=True):
    """A selector of an aggregationRule: which ClusterRoles' rules a ClusterRole takes over."""

    path: str
    labels: str = ""
    """`key=value`, comma-separated and sorted; empty where it may select anything."""


class AggregationLabel(_Struct, frozen=True):
    """A label by which another ClusterRole takes over the rules of this one."""

    path: str
    label: str


class Rights(_Struct, frozen=True):
    """The rights that a role holds or a binding gives."""

    everywhere: bool = False
    """Whether rules hold in all namespaces, and for what lies in none."""
    rules: list[GrantedRule] = []
    role: str = ""
    """Kind and name of the role that a binding gives."""
    unknown: bool = False
    """Whether nobody knows what that role holds."""
    subjects: list[BindingSubject] = []
    foreign: bool = False
    """Whether a subject lives in another namespace."""
    aggregated: list[AggregationLabel] = []
    collected: list[AggregationSelector] = []


class FederatedIdentity(_Struct, frozen=True):
    """Who the Pods of a ServiceAccount are in a cloud, or how they sign in there."""

    path: str
    cloud: str
    value: str
    setting: str = ""
    """The key below the cloud's prefix; empty of the one that says who they are."""


class Object(_Struct, frozen=True):
    """What is read of an object that is no Pod."""

    kind: str
    name: str = ""
    handler: str = ""
    provisioner: str = ""
    global_default: bool = False
    tokens: list[Token] = []
    requests: list[DeviceRequest] = []
    configs: list[DeviceConfig] = []
    command: str = ""
    arguments: bool = False
    stdin: bool = False
    tty: bool = False
    port: str = ""
    endpoint: str = ""
    bound: bool = False
    seconds: int = 0
    signer: str = ""
    """Segments of a privilege."""
    common_name: str = ""
    organisations: list[str] = []
    rights: Rights | None = None
    identities: list[FederatedIdentity] = []


class Projection(_Struct, frozen=True):
    """What policies see. Absent, false and empty are the same: left out."""

    containers: list[Container]
    object: Object | None = None
    os: str = ""
    host_network: bool = False
    host_pid: bool = msgspec.field(default=False, name="hostPID")
    host_ipc: bool = msgspec.field(default=False, name="hostIPC")
    host_users: bool | None = None
    automount: bool | None = None
    node_name: str = ""
    tolerations: list[Toleration] = []
    priority_class: str = ""
    share_process_namespace: bool = False
    dns_policy: str = ""
    nameservers: list[str] = []
    host_aliases: list[HostAlias] = []
    security_context: k8s.PodSecurityContext | None = None
    annotations: dict[str, str] = {}
    volumes: list[Volume] = []
    weighed: bool = False
    """Whether anybody may ask that the Pod run in a sandbox; what follows is left out otherwise."""
    hints: tuple[Hint, ...] = ()
    resources: tuple[str, ...] = ()
    resource_claims: bool = False


_ENCODER = msgspec.json.Encoder()


def encode(projection: Projection) -> bytes:
    """Return the projection as the JSON that policies are evaluated on."""
    return _ENCODER.encode(projection)


NO_POD: Final = encode(Projection(containers=[]))
"""Of what is no Pod: rules see its fields alone."""
