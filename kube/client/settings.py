"""How long to wait, keep and trust when talking to kube-apiserver."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DefaultDeny:
    """The policy that closes a namespace on the way out."""

    kind: str
    name: str
    digest: bytes
    """`kube.egress.network_policies.digest_of` it: the same in every namespace."""


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """Times are in seconds."""

    default_deny: DefaultDeny | None = None
    """What is watched, by who asks whether a namespace is closed; nothing without it."""
    namespace: str = ""
    """Where Sallyport is installed; without it nobody knows how full the sandbox's nodes are."""
    risk: bool = False
    """Whether the risk snapshot in `namespace` is watched, and decides."""
    statuses: bool = False
    """Whether statuses of what needs approval are kept: by `control`, which writes them."""
    max_staleness_s: float = 60.0
    """How long a watch may be without contact until nothing is judged by what it brought."""
    max_silence_s: float = 75.0
    """How long an established watch may bring nothing and still count as contact; the connection
    is then dropped. Longer than `watch_max_s`, after which kube-apiserver ends a watch itself.
    Bookmarks prove nothing: a kind that has not changed since kube-apiserver started gets none
    (apiserver, storage/cacher: never where no event was seen)."""
    page_size: int = 500
    """Objects in one page of a list; client-go's own."""
    request_timeout_s: float = 30.0
    """For a page of a list, the version, and the beginning of a watch."""
    watch_min_s: float = 30.0
    watch_max_s: float = 60.0
    """A watch lasts a random time between these; its end is the sign of life that a silent watch
    gives. Two short requests a minute from each gate."""
    backoff_first_s: float = 0.2
    backoff_cap_s: float = 10.0
    """Waits between attempts double from the first to the cap, each cut by up to half."""
    version_age_s: float = 600.0
    """How often the cluster's version is read again, for upgrades of the control plane."""
    namespace_wait_s: float = 1.0
    """How long a review waits for a namespace, or for the policy that closes one, which the watch
    has not brought yet."""
    review_timeout_s: float = 2.0
    """For one SubjectAccessReview, the wait for its turn included."""
    reviews_in_flight: int = 64
    """SubjectAccessReviews that run at the same time."""
    cache_size: int = 20_000
    """Answers that are remembered, about 250 bytes each."""
    allow_age_s: float = 10.0
    """How long a yes is remembered: so long may a right outlive its removal."""
    owner_age_s: float = 10.0
    """How long the notes of an owner are believed: a gang asks once."""
    deny_age_s: float = 2.0
    """How long a no is remembered: so long may a new right go unnoticed."""
