"""Compares what is registered with kube-apiserver with what the chart says.

Of a webhook configuration the webhooks count, of a policy and its binding the `spec`. What is left
out kube-apiserver fills in (admissionregistration.k8s.io/v1, `defaults.go`); that is no difference.
The CA of a webhook is nobody's but control's or cert-manager's: it is as it is in the probe, by
which kube-apiserver is known to reach a gate.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

MISSING: Final = "missing"
ORDER: Final = "order"
CA: Final = "caBundle"
ANNOTATIONS: Final = "annotations"
UNREADABLE: Final = "unreadable"

_HELMS: Final = "meta.helm.sh/"
"""Annotations that Helm writes, and other tools do not."""

_WEBHOOK: Final[Mapping[str, Any]] = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "reinvocationPolicy": "Never",
    "timeoutSeconds": 10,
    "namespaceSelector": {},
    "objectSelector": {},
}
_MATCH: Final[Mapping[str, Any]] = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
}
_POLICY: Final[Mapping[str, Any]] = {"failurePolicy": "Fail"}
"""What kube-apiserver fills in, by where it stands: a label may be called as a field is."""

_NOTHING: Final[tuple[Any, ...]] = (None, {}, [])

Json = Mapping[str, Any]


def names_of(wanted: Json) -> tuple[str, ...]:
    """Name what is asked or evaluated of an object: its webhooks, or the object itself."""
    webhooks = wanted.get("webhooks")
    return tuple(each["name"] for each in webhooks) if webhooks else (wanted["metadata"]["name"],)


def differences(wanted: Json, live: Json | None, ca: str) -> Mapping[str, str]:
    """Return the field in which each differs, by the names of `names_of`; the first of several.

    `live` is None where there is no such object; `ca` is the `caBundle` of the probe, empty where
    that is not known. Others fill a configuration without webhooks (`sallyport-discovered`).
    """
    if live is None:
        return dict.fromkeys(names_of(wanted), MISSING)
    if "spec" in wanted:
        found = _first_difference(_spec(wanted["spec"]), _spec(live.get("spec") or {}))
        return {wanted["metadata"]["name"]: found} if found else {}
    found_by_name = dict(_of_webhooks(wanted.get("webhooks") or [], live.get("webhooks") or [], ca))
    if lacking_annotations(wanted, live):
        found_by_name.setdefault(names_of(wanted)[0], ANNOTATIONS)
    return found_by_name


def lacking_annotations(wanted: Json, live: Json) -> Mapping[str, str]:
    """Return the annotations that the chart says and the object lacks."""
    there = live["metadata"].get("annotations") or {}
    return {
        key: value
        for key, value in (wanted["metadata"].get("annotations") or {}).items()
        if there.get(key) != value and not key.startswith(_HELMS)
    }


def with_ca(wanted: Json, ca: str) -> dict[str, Any]:
    """Return an object with the CA in each of its webhooks."""
    if not (webhooks := wanted.get("webhooks")):
        return dict(wanted)
    trusting = [
        {**each, "clientConfig": {**each["clientConfig"], **({CA: ca} if ca else {})}}
        for each in webhooks
    ]
    return {**wanted, "webhooks": trusting}


def ca_of(probe: Json | None) -> str:
    """Return the `caBundle` of the probe's configuration; empty where it has none yet."""
    webhooks = (probe or {}).get("webhooks") or [{}]
    return (webhooks[0].get("clientConfig") or {}).get(CA) or ""


def _of_webhooks(
    wanted: Sequence[Json], live: Sequence[Json], ca: str
) -> Iterator[tuple[str, str]]:
    if not wanted:
        return
    found = {each.get("name"): each for each in live}
    for each in wanted:
        name = each["name"]
        if name not in found:
            yield name, MISSING
        elif field := _first_difference(_webhook(each), _webhook(found[name])):
            yield name, field
        elif ca and (found[name].get("clientConfig") or {}).get(CA, "") != ca:
            yield name, CA
    order = [each["name"] for each in wanted]
    if set(found) >= set(order) and [each.get("name") for each in live] != order:
        yield order[0], ORDER


def _first_difference(wanted: Json, live: Json) -> str:
    """Return the field of `wanted` or `live` that differs, by its name; empty where none does."""
    fields = dict.fromkeys((*wanted, *live))
    return next((each for each in fields if wanted.get(each) != live.get(each)), "")


def _webhook(webhook: Json) -> Json:
    """Return a webhook as kube-apiserver would store it, without its CA."""
    said = {**_WEBHOOK, **_said(webhook)}
    client = {key: value for key, value in _said(said.get("clientConfig")).items() if key != CA}
    if "service" in client:
        client["service"] = {"port": 443, **client["service"]}
    return {**said, "clientConfig": client, "rules": _rules(said.get("rules"))}


def _spec(spec: Json) -> Json:
    """Return the `spec` of a policy or a binding as kube-apiserver would store it."""
    said = {**_POLICY, **_said(spec)} if "validations" in spec else dict(_said(spec))
    for field in ("matchConstraints", "matchResources"):
        if field in said:
            said[field] = _match({**_MATCH, **_said(said[field])})
    return said


def _match(match: Json) -> Json:
    rules = {
        field: _rules(match[field])
        for field in ("resourceRules", "excludeResourceRules")
        if field in match
    }
    return {**match, **rules}


def _rules(rules: Sequence[Json] | None) -> list[Json]:
    return [{"scope": "*", **_said(each)} for each in rules or ()]


def _said(fields: Json | None) -> Json:
    """Return the fields that say something: null and what is empty are as absent."""
    return {key: value for key, value in (fields or {}).items() if value not in _NOTHING}
