"""Each change of what is registered is a difference, wherever it is; what is filled in is none."""

import copy
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pytest

from control.registrations.comparison import CA, differences
from tests.harness.programs.client import Json
from tests.harness.programs.helm import Helm, named

TRUSTED: Final = "Q0E="
FIELDS: Final = ("failurePolicy", "matchPolicy", "reinvocationPolicy", "timeoutSeconds", "scope")
"""Names of fields that have defaults: a label may be called so too."""


@pytest.fixture(scope="module")
def registered(helm: Helm) -> list[Json]:
    """All that the chart has registered, as objects that kube-apiserver would give."""
    (said,) = named(helm.objects({}), "ConfigMap", "sallyport-registrations")["data"].values()
    found: list[Json] = json.loads(said)
    return [with_ca(each) for each in found]


def with_ca(item: Json) -> Json:
    """Return an object whose webhooks have the CA."""
    item = copy.deepcopy(item)
    for webhook in item.get("webhooks", ()):
        webhook["clientConfig"][CA] = TRUSTED
    return item


def places(value: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield each small change of a document, by name: to make it changes `value` itself."""
    if isinstance(value, dict):
        for key in list(value):
            yield f"{key} gone", partial(value.pop, key)
            if not isinstance(value[key], dict | list):
                yield f"{key} changed", partial(value.update, {key: "changed"})
            for name, change in places(value[key]):
                yield f"{key}.{name}", change
        yield "more", lambda: value.update(more="more")
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield f"{at} gone", partial(value.pop, at)
            for name, change in places(each):
                yield f"{at}.{name}", change
        yield "one more", lambda: value.append(copy.deepcopy(value[0]) if value else "more")


def part(item: Json) -> Any:
    """Return what of an object counts."""
    return item["spec"] if "spec" in item else item.get("webhooks", [])


DEFAULTS: Final = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "reinvocationPolicy": "Never",
    "timeoutSeconds": 10,
    "port": 443,
    "scope": "*",
}
"""What kube-apiserver fills in where it is gone (admissionregistration.k8s.io/v1, defaults.go)."""


def test_each_small_change_is_found(registered: list[Json]) -> None:
    """Of every webhook, policy and binding; but to take away what would be filled in again."""
    tried = 0
    for item in (each for each in registered if part(each)):
        names = [name for name, _ in places(part(item))]
        for at, name in enumerate(names):
            changed = copy.deepcopy(item)
            list(places(part(changed)))[at][1]()
            tried += 1
            if differences(item, changed, TRUSTED):
                continue
            # Only to take away what kube-apiserver fills in again makes no difference.
            *_, field = name.removesuffix(" gone").split(".")
            assert name.endswith(" gone"), (item["metadata"]["name"], name)
            assert field in DEFAULTS, (item["metadata"]["name"], name)
    assert tried > 1500


@pytest.mark.parametrize("field", FIELDS)
def test_a_label_that_is_called_as_a_field_is_a_difference(
    registered: list[Json], field: str
) -> None:
    """A selector that nothing matches would take a webhook or a policy out of force, unseen."""
    value = str(DEFAULTS[field])
    nothing = {"matchLabels": {field: value}}
    for item in registered:
        for selector in ("objectSelector", "namespaceSelector"):
            changed = copy.deepcopy(item)
            if item.get("webhooks"):
                changed["webhooks"][0][selector] = nothing
            elif item["kind"] == "ValidatingAdmissionPolicy":
                changed["spec"]["matchConstraints"][selector] = nothing
            elif item["kind"] == "ValidatingAdmissionPolicyBinding":
                changed["spec"]["matchResources"] = {selector: nothing}
            else:
                continue
            assert differences(item, changed, TRUSTED), (item["metadata"]["name"], selector)


def test_what_is_filled_in_is_no_difference(registered: list[Json]) -> None:
    """As kube-apiserver answers: tests/api/install has it of a real one."""
    for item in registered:
        live = copy.deepcopy(item)
        for webhook in live.get("webhooks", ()):
            webhook.setdefault("namespaceSelector", {})
            webhook.setdefault("objectSelector", {})
            webhook.setdefault("matchConditions", [])
            for rule in webhook["rules"]:
                rule.setdefault("scope", "*")
        live["metadata"]["annotations"] = {
            **live["metadata"].get("annotations", {}),
            "of-others": "yes",
        }
        assert not differences(item, live, TRUSTED)


def test_the_first_field_is_named_of_each_webhook(registered: list[Json]) -> None:
    """What is missing, what changed, and an order that changed; the CA where all else is right."""
    item = next(each for each in registered if len(each.get("webhooks", ())) > 2)
    first, second, *_ = (each["name"] for each in item["webhooks"])
    changes: list[tuple[Callable[[list[Json]], object], Json]] = [
        (lambda hooks: hooks.pop(0), {first: "missing"}),
        (lambda hooks: hooks.reverse(), {first: "order"}),
        (lambda hooks: hooks[1].update(rules=[]), {second: "rules"}),
        (lambda hooks: hooks[1]["clientConfig"].update({CA: "bm9uZQ=="}), {second: CA}),
    ]
    for change, said in changes:
        live = copy.deepcopy(item)
        change(live["webhooks"])
        assert differences(item, live, TRUSTED) == said
    assert set(differences(item, None, TRUSTED).values()) == {"missing"}
