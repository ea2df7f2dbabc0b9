"""The object that is judged: its Pods, whose rights count, and where; or why none of it is."""

import msgspec

from core.decision.decision import Denial
from core.kubernetes.object_meta import ObjectMeta
from core.kubernetes.pod import Pod
from core.kubernetes.pod_templates import PodTemplate
from core.people.subject import Subject
from policies.projection.model import Projection
from policies.site.fields import NO_FIELDS


class Part(msgspec.Struct, frozen=True, gc=False):
    """One thing that policies look at: the object itself, or a Pod that it would make."""

    projection: Projection
    template: PodTemplate | None = None
    """The Pod, and where it lies; None for the object itself."""
    fields: bytes = NO_FIELDS
    """Of a Pod: those fields that a site's rules declare, as JSON."""

    def counts(self, path: str) -> bool:
        """Return whether a need at this path is certain.

        Whatever fills in the absent fields of a `partial` template decides about them. No Pod
        is without an image: somebody fills in one that a template leaves out.
        """
        if self.template is None:
            return True
        if self.template.partial or path.endswith(".image"):
            return self.template.says(path)
        return True

    def with_object_path(self, denial: Denial) -> Denial:
        """Return what is denied of the Pod with its path from the object's root."""
        if self.template is None:
            return denial
        return msgspec.structs.replace(denial, path=self.template.place(denial.path))


class LeftAlone(msgspec.Struct, frozen=True, gc=False):
    """An object of which nothing is judged."""

    why: str


class Reading(msgspec.Struct, frozen=True, gc=False):
    """What of an object is judged, and whose rights count."""

    parts: tuple[Part, ...]
    """One profile must cover what all of them need."""
    subjects: tuple[Subject, ...]
    namespace: str
    """Where the right is asked; empty for the right in all namespaces."""
    settings: bytes = b""
    """Of a class, a driver or a claim for devices: what it says besides, no rule reads and its
    making was judged for."""
    metadata: ObjectMeta | None = None
    """Of a Pod or a workload."""
    named: tuple[str, str] | None = None
    """The profile that the object names, or was noted under, and the path of what names it."""
    uid: str = ""
    always: bool = False
    """Whether it is judged even where it needs nothing."""
    is_complete: bool = True
    """Whether its parts say all of its Pods; else a profile for them says nothing of the rest."""
    claim: str = ""
    """Which claim a volume is kept for: another one is another volume given."""
    entered: str = ""
    """The Pod that a connection enters: what it needs is judged too."""
    pods: tuple[Pod, ...] = ()
    """The Pod itself, or those of the templates, one for each part; none of other objects."""
    gives: bool = False
    """Whether it gives rights: then a profile that a namespace names has no say."""

    @property
    def root(self) -> bool:
        """Whether it is a Pod or a workload that nothing owns."""
        return self.metadata is not None and not self.metadata.owner_references
