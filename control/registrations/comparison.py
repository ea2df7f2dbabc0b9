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

_DEFAULTS: Final[Mapping[str, Any]] = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "port": 443,
    "reinvocationPolicy": "Never",
    "scope": "*",
    "timeoutSeconds": 10,
}
"""Values of fields that kube-apiserver fills in; also empty selectors."""

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
        found = _first_difference(wanted["spec"], live.get("spec") or {})
        return {wanted["metadata"]["name"]: found} if found else {}
    if not (webhooks := wanted.get("webhooks")):
        return {}
    return dict(_of_webhooks(webhooks, live.get("webhooks") or [], ca))


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
    found = {each.get("name"): each for each in live}
    for each in wanted:
        name = each["name"]
        if name not in found:
            yield name, MISSING
            continue
        theirs, said = _without_ca(found[name])
        if field := _first_difference(each, theirs):
            yield name, field
        elif ca and said != ca:
            yield name, CA
    order = [each["name"] for each in wanted]
    if set(found) >= set(order) and [each.get("name") for each in live] != order:
        yield order[0], ORDER


def _without_ca(webhook: Json) -> tuple[Json, str]:
    client = dict(webhook.get("clientConfig") or {})
    ca = client.pop(CA, "") or ""
    return {**webhook, "clientConfig": client}, ca


def _first_difference(wanted: Json, live: Json) -> str:
    """Return the field of `wanted` or `live` that differs, by its name; empty where none does."""
    fields = dict.fromkeys((*wanted, *live))
    return next((each for each in fields if _bare(wanted, each) != _bare(live, each)), "")


def _bare(of: Json, field: str) -> Any:
    """Return the value of a field, without what kube-apiserver fills in."""
    value = _strip(of.get(field))
    return None if value in _NOTHING or value == _DEFAULTS.get(field) else value


def _strip(value: Any) -> Any:
    if isinstance(value, Mapping):
        kept = {key: _bare(value, key) for key in value}
        return {key: each for key, each in kept.items() if each is not None}
    if isinstance(value, list):
        return [_strip(each) for each in value]
    return value
