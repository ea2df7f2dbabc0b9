"""The projection and the context: the parts of an object and of its request that policies see.

Nothing else is shown to them. The published schemas are `policies/rego/schema/projection.json` and,
of the context, a part of `judge.json` beside it. What no rule reads stays out: small inputs are
fast inputs, and secrets cannot reach a policy that never gets them. Paths are from the object's
root, so that a finding can name the field its author wrote. No name and no id of a person is in the
context: rules ask for kinds and groups. More of something than any real object has is refused.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from core.base.errors import InvalidObjectError
from core.decision.id_ranges import IdRanges
from core.kubernetes import pod as k8s

MAX_NAMES: Final = 256
"""The most capabilities, sysctls, tolerations … of one object; Linux has 41 capabilities."""

MAX_PATH: Final = 4096
"""Linux's PATH_MAX: no path of a node is longer."""

MAX_NAME: Final = 1024
"""Characters of an image's reference, and of what is remembered by name: real ones are shorter."""

MAX_IMAGE: Final = 512
"""Characters of an image's reference: a name of 255, a tag of 128 and a digest
(github.com/distribution/reference)."""

MAX_CONTAINERS: Final = 128
"""Containers of all sorts in a Pod: each takes up to 0.1 ms to judge. Real Pods have a few, those
with the most sidecars about twenty."""

MAX_MARKS: Final = 1000
"""Labels, and annotations, of an object: real ones have up to fifty."""

MAX_VOLUMES: Final = 1000

MAX_ENV: Final = 4000
"""Environment variables of all containers of a Pod."""

ABSENT_BESIDES_RISK: Final = ("egress", "weights")
"""Facts that no release knows yet: where the Pod may connect, what it can read."""

ABSENT: Final = ("egress", "risk", "weights")
"""What is not known where the installation asks nobody for the risk of identities."""


class _Struct(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """Frozen; absent fields are left out when encoded."""


class HostPort(_Struct, frozen=True):
    """A port of the node that a container listens on."""

    path: str
    port: int


class HandlerHost(_Struct, frozen=True):
    """The host that a probe or lifecycle handler makes the kubelet connect to."""

    path: str
    host: str


class EnvVar(_Struct, frozen=True):
    """An environment variable that asks for devices. Its value stays out."""

    path: str
    name: str


class Mount(_Struct, frozen=True):
    """A mount that asks for devices."""

    path: str
    mount_path: str


class Container(_Struct, frozen=True):
    """A container of any sort."""

    path: str
    name: str
    kind: str
    image: str = ""
    image_from: str = ""
    """Segments of a privilege: the registry's host and the repository."""
    pinned: bool = False
    """Whether a digest names the image's content."""
    public: bool = False
    """Whether anyone may publish where the image comes from, or nobody knows where that is."""
    security_context: k8s.SecurityContext | None = None
    host_ports: list[HostPort] = []
    handler_hosts: list[HandlerHost] = []
    unlimited: list[str] = []
    """Which of cpu and memory neither the container nor its Pod limits."""
    env: list[EnvVar] = []
    mounts: list[Mount] = []
    block_devices: list[str] = []
    recursive_read_only: list[str] = []
    """Paths of mounts below which nothing may be writable."""
    interactive: bool = False
    """Whether it has a terminal and waits for what is typed into it."""
    installs: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    """What its command gets from the network, and runs of it."""
    resources: tuple[str, ...] = ()
    """Names of the resources it wants that not every node has."""
    added: bool = False
    """Whether an update adds it to a Pod that runs."""
    target: bool = False
    """Whether it joins the processes of another container."""
    shares: bool = False
    """Whether it mounts a file system that others mount too, or may get one."""


class Token(_Struct, frozen=True):
    """A service account's token; without an audience it is for the API server."""

    path: str
    audience: str = ""


class Certificate(_Struct, frozen=True):
    """A certificate that a signer gives the Pod."""

    path: str
    signer: str


class HostPath(_Struct, frozen=True):
    """A hostPath volume. `read_only`: it is mounted, never writably, and creates nothing."""

    path: str
    read_only: bool = False


class Csi(_Struct, frozen=True):
    """The driver of a CSI volume."""

    driver: str = ""


class Image(_Struct, frozen=True):
    """The image of an image volume, as `Container` describes one."""

    reference: str = ""
    image_from: str = msgspec.field(default="", name="from")
    pinned: bool = False
    public: bool = False


class VolumeSecret(_Struct, frozen=True):
    """A Secret of another namespace that a PersistentVolume's driver is handed."""

    path: str
    namespace: str


class Volume(_Struct, frozen=True):
    """A volume that some rule looks at. Its name stays out: injectors make random ones."""

    path: str
    types: list[str] = []
    host_path: HostPath | None = None
    csi: Csi | None = None
    image: Image | None = None
    tokens: list[Token] = []
    certificates: list[Certificate] = []
    secrets: list[VolumeSecret] = []
    """Of a PersistentVolume."""
    options: list[str] = []
    """Of a PersistentVolume: what the mount is told."""


class Hint(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A hint of one of KINDS."""

    path: str
    kind: str
    word: str
    """Of a closed list: no text of the object's."""
    container: str = ""


class Toleration(_Struct, frozen=True):
    """A toleration that the author wrote: of a Pod for nodes, of a claim for devices."""

    path: str
    key: str = ""
    operator: str = ""


class AntiAffinity(_Struct, frozen=True):
    """A required anti-affinity that keeps Pods off more than one node, or Pods of others."""

    path: str
    key: str
    """The nodes' label: those with one value are kept free together."""
    elsewhere: bool = False
    """Whether it speaks of Pods of other namespaces."""


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
    tolerations: list[Toleration] = []
    """Of a claim for devices."""
    extended_resource: str = ""
    """Of a DeviceClass: the resource whose requests it serves."""
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
    pod: str = ""
    """Of a PodCertificateRequest; `name` is that of the service account."""
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
    anti_affinity: list[AntiAffinity] = []
    priority_class: str = ""
    share_process_namespace: bool = False
    dns_policy: str = ""
    nameservers: list[str] = []
    host_aliases: list[HostAlias] = []
    security_context: k8s.PodSecurityContext | None = None
    annotations: dict[str, str] = {}
    volumes: list[Volume] = []
    ids: IdRanges | None = None
    """Of the namespace, where a container shares a file system."""
    ids_filled: bool = False
    """Whether what the Pod leaves out is yet to be filled in from them."""
    weighed: bool = False
    """Whether anybody may ask that the Pod run in a sandbox; what follows is left out otherwise."""
    hints: tuple[Hint, ...] = ()
    resources: tuple[str, ...] = ()
    resource_claims: bool = False


_ENCODER: Final = msgspec.json.Encoder()


def encode(projection: Projection) -> bytes:
    """Return the projection as the JSON that policies are evaluated on."""
    return _ENCODER.encode(projection)


NO_POD: Final = encode(Projection(containers=[]))
"""Of what is no Pod: rules see its fields alone."""


class Standings(msgspec.Struct, frozen=True, gc=False):
    """What is known of the identities of a request: values of `core.risk.model.Standing`, no ids.

    Empty where there is no such identity, or none whose risk anybody knows.
    """

    requester: str = ""
    author: str = ""
    """Whoever submitted the workload that a controller makes it for."""
    workload: str = ""
    """What the Pod can sign in as; of several the one that the table is strictest with."""


NO_STANDINGS: Final = Standings()


class Context(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What is known of one request. Every key is in the JSON, so that rules need not ask for it."""

    operation: str
    """CREATE, UPDATE or CONNECT."""
    subresource: str = ""
    """`exec`, `attach`, `ephemeralcontainers` …; empty for the object itself."""
    namespace: str = ""
    """The object's; empty for what lies in none."""
    requester: str = ""
    """What kind of identity asks: a value of `identity.subjects.SubjectKind`."""
    groups: tuple[str, ...] = ()
    """The requester's, sorted."""
    namespace_labels: Mapping[str, str] = {}
    new_service_account: bool = False
    """Whether the Pod's service account was made lately."""
    services: tuple[str, ...] = ()
    """Names of the first Services that let in from outside of the cluster what the Pod serves."""
    risk: Standings = NO_STANDINGS
    """What is known of who asks, who is behind it, and what it can sign in as."""
    behaviour: tuple[str, ...] = ()
    """What is new in what the person behind it does, in words of `core.risk.model.Behaviour`."""
    absent: tuple[str, ...] = ABSENT
    """Facts that are not known, so that a rule can tell them from facts that are false; also
    `services` and `service-accounts` where they could not be read."""


_CONTEXT_ENCODER: Final = msgspec.json.Encoder(order="deterministic", enc_hook=dict)


def encode_context(context: Context) -> bytes:
    """Return the context as the JSON that policies are evaluated on.

    Equal ones give equal bytes.
    """
    return _CONTEXT_ENCODER.encode(context)


def bound(count: int, field: str, kind: str = "Pod", most: int = MAX_NAMES) -> None:
    """Raise InvalidObjectError if a field holds more than is judged."""
    if count > most:
        message = f"holds {count}; more than {most} are not judged"
        raise InvalidObjectError(kind, field, message)


def check_length(text: str, field: str, kind: str = "Pod", most: int = MAX_NAME) -> None:
    """Raise InvalidObjectError if a text is longer than any of its sort."""
    if len(text) > most:
        message = f"is {len(text)} characters long; more than {most} are not judged"
        raise InvalidObjectError(kind, field, message)
