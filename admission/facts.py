"""The facts of one request: all that the checks may look at, known before they run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from admission.candidates import Candidates
from core.decision import Access, Finding, Need
from core.namespaces import Mode, Namespace
from core.profiles import ProfileSet
from core.subject import Subject
from policies.bundle import Rule


@dataclass(frozen=True)
class NamedProfile:
    """The one profile by which an object is to be judged."""

    name: str
    path: str
    """The field that names it, from the object's root; empty where a person asked for it."""
    whoever_asks: bool = False
    """Whether no right and no ceiling matters (`sallyport review --profile`)."""


@dataclass(frozen=True)
class PodFacts:
    """What is known of a Pod, or of another object that carries privileges."""

    needs: tuple[Need, ...]
    privileges: frozenset[str]
    """The different ones among what is needed."""
    subjects: tuple[Subject, ...]
    """All of them must have the `use` of the profile."""
    namespace: str
    """Where they must have it; empty for the right in all namespaces."""
    root: bool
    """Whether it is a Pod that nothing owns."""
    candidates: Candidates
    """Profiles that may be tried, and what each lacks."""
    denials: tuple[Finding, ...] = ()
    """What no profile makes good."""
    named: NamedProfile | None = None
    usable: Mapping[str, bool] = field(default_factory=dict)
    """For each profile that was asked about: whether all subjects may use it."""
    access: tuple[Access, ...] = ()
    """The answers of access reviews, as they came."""
    projection: bytes = b""
    """What the policies were evaluated on."""
    evaluation_seconds: float = 0.0
    access_seconds: float = 0.0


@dataclass(frozen=True)
class MarkFacts:
    """What is known of a change to the guarded marks of a Namespace."""

    changed: tuple[str, ...]
    """Paths of the marks that the request sets, changes or takes away."""
    exempt: bool
    """Whether the requester has the verb `exempt` on the Namespace."""


@dataclass(frozen=True)
class Facts:
    """Everything a decision is made of besides the request: one revision of each."""

    profiles: ProfileSet
    policy_revision: str
    rules: Mapping[str, Rule]
    """What the METADATA of the policies in force says, by rule id."""
    mode: Mode = Mode.ENFORCE
    namespace: Namespace | None = None
    pod: PodFacts | None = None
    marks: MarkFacts | None = None
    object_uid: str = ""
    """Of the object; empty before it has one."""
    left_alone: str = ""
    """Why the object is not judged, if it is not."""
