"""Reads back what policies were shown of a request, as `admission.replayable` writes it. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from core.kubernetes.workload_kinds import WORKLOADS
from core.people.subject import GROUP_PREFIX, pseudonymous_group
from policies.bundle.format import Rule
from policies.site.fields import POD, is_covered

_RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_LIST: Final = b"["
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_UNNAMED: Final = f'"{GROUP_PREFIX}'.encode()
_TEXTS: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`')
"""Texts of Rego and JSON, with their quotes."""


class _Fields(msgspec.Struct, frozen=True):
    declared: dict[str, list[str]] = {}
    parts: list[dict[str, Any]] = []
    object: dict[str, Any] | None = None


_FIELDS: Final = msgspec.json.Decoder(_Fields)


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """What policies were shown of one request."""

    kind: str
    """As rules name it: `Pod`, `networking.k8s.io/Ingress`."""
    asked: bool
    """Whether a site's rules are asked: of the final state of what is created or changed."""
    projections: tuple[bytes, ...] = ()
    contexts: tuple[bytes, ...] = ()
    """Of its Pods, then of the object itself; empty where none was recorded."""
    parts: tuple[Mapping[str, Any], ...] = ()
    """The fields of its Pods; empty where none was declared."""
    own: Mapping[str, Any] | None = None
    """The object's own fields; None where it was not judged itself."""
    declared: Mapping[str, list[str]] = {}
    """Which fields were copied, by kind."""

    @property
    def pods(self) -> int:
        """How many Pods it has, or would make, of which a context is known."""
        return len(self.contexts) - (self.own is not None)

    def unread(self, rules: Iterable[Rule]) -> frozenset[str]:
        """Name the rules that read of it what was not recorded: nobody knows what they would say.

        Without a context, all that are asked about it.
        """
        if not self.asked:
            return frozenset()
        kinds = {self.kind, *([POD] if self.carries else [])}
        return frozenset(
            rule.id
            for rule in rules
            if rule.site
            and rule.id.startswith("rules/")
            and not all(self._shows(kind, rule) for kind in kinds.intersection(rule.kinds))
        )

    @property
    def carries(self) -> bool:
        """Whether it is a Pod, or makes Pods."""
        group, _, name = self.kind.rpartition("/")
        return self.pods > 0 or self.kind == POD or (group, name) in WORKLOADS

    def _shows(self, kind: str, rule: Rule) -> bool:
        known = self.declared.get(kind)
        if (not self.pods) if kind == POD else known is None:
            return False
        return all(is_covered(field, known or ()) for field in rule.fields)


def names_in(sources: Iterable[str]) -> dict[str, str]:
    """Give the names of groups that Rego may speak of, by what the record has in their place.

    Each text in quotes may be one: what a rule compares a group with stands in it, or in its
    parameters.
    """
    found = (text for source in sources for text in _TEXTS.findall(source))
    texts = {_unquoted(text) for text in found}
    return {pseudonymous_group(text): text for text in texts if pseudonymous_group(text) != text}


def _unquoted(text: str) -> str:
    if text.startswith("`"):
        return text[1:-1]
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return text[1:-1]


def named(context: bytes, names: Mapping[str, str]) -> bytes:
    """Give a context with the names of groups that are known put back."""
    if _UNNAMED not in context:
        return context
    decoded = msgspec.json.decode(context, type=dict)
    groups = [names.get(group, group) for group in decoded.get("groups", ())]
    return _ENCODER.encode(decoded | {"groups": sorted(groups)})


def read_inputs(  # noqa: PLR0913  All that was recorded.
    kind: str,
    projection: bytes,
    context: bytes,
    fields: bytes,
    names: Mapping[str, str],
    *,
    asked: bool,
) -> Inputs:
    """Read what was recorded; what is empty was not. `names` are those of groups (`names_in`).

    Raises:
        ValueError: it is not what this or an earlier release writes.
    """
    found = _FIELDS.decode(fields) if fields else _Fields()
    return Inputs(
        kind=kind,
        asked=asked,
        projections=_split(projection),
        contexts=tuple(named(each, names) for each in _split(context)),
        parts=tuple(found.parts),
        own=found.object,
        declared=found.declared,
    )


def _split(content: bytes) -> tuple[bytes, ...]:
    """Give the members of a list, or what is none."""
    if not content:
        return ()
    return tuple(map(bytes, _RAWS.decode(content))) if content.startswith(_LIST) else (content,)
