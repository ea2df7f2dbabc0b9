"""Which writes bring a namespace to what is wanted, and what is open on the way."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from control.egress.plan import FLOOR, Apply, Delete, Plan, plan_of
from core.base import names
from egress.render.generated_objects import allow_name, generated_object
from kube.egress.network_policies import LivePolicy, digest_of, live_policy

Json = dict[str, Any]
Content = dict[str, list[set[int]]]
"""What the policies of each allowlist open, by its name."""

KIND = "NetworkPolicy"


def policy(name: str, opened: set[int], allowlist: str = "") -> Json:
    """Return a policy that opens ports."""
    spec = {"ports": sorted(opened)}
    metadata = {"name": name, "namespace": "a"}
    return generated_object("networking.k8s.io/v1", KIND, metadata, spec, allowlist)


def policies(content: Content) -> list[Json]:
    """Return the floor, and the policies of allowlists."""
    allows = [
        policy(allow_name(allowlist, index), opened, allowlist)
        for allowlist, parts in content.items()
        for index, opened in enumerate(parts)
    ]
    return [*(policy(name, set()) for name in FLOOR), *allows]


def live(item: Json, *, ours: bool = True) -> LivePolicy:
    """Return a policy as it lies in the cluster."""
    metadata = {**item["metadata"], "uid": item["metadata"]["name"], "resourceVersion": "1"}
    if not ours:
        metadata["labels"] = {}
    return live_policy({**item, "metadata": metadata}, KIND)


def after_each(before: list[Json], plan: Plan) -> list[dict[str, Json]]:
    """Return what is there after each step."""
    there = {each["metadata"]["name"]: each for each in before}
    found = [dict(there)]
    for step in plan.steps:
        if isinstance(step, Delete):
            del there[step.live.name]
        else:
            there[step.wanted["metadata"]["name"]] = step.wanted
        found.append(dict(there))
    return found


def opened(there: dict[str, Json]) -> set[tuple[str, int]]:
    """Return what is open: allowlist and port."""
    return {
        (each["metadata"].get("annotations", {}).get(names.ALLOWLIST_ANNOTATION, ""), port)
        for each in there.values()
        for port in each["spec"]["ports"]
    }


CONTENTS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.lists(st.sets(st.integers(1, 8), min_size=1, max_size=4), min_size=1, max_size=3),
)


@given(CONTENTS, CONTENTS)
def test_the_end_is_what_is_wanted(before: Content, after: Content) -> None:
    """Whatever was there, all that is wanted is, and nothing else; then nothing is left to do."""
    there, wanted = policies(before), policies(after)
    plan = plan_of(wanted, [live(each) for each in there])
    end = after_each(there, plan)[-1]
    assert end == {each["metadata"]["name"]: each for each in wanted}
    assert plan_of(wanted, [live(each) for each in end.values()]) == Plan()


@given(CONTENTS, CONTENTS)
def test_nothing_opens_before_what_is_over_has_closed(before: Content, after: Content) -> None:
    """While a policy of an allowlist is there of which nothing is left, no other is opened."""
    there, wanted = policies(before), policies(after)
    over = {key for key in before if key not in after}
    moments = after_each(there, plan_of(wanted, [live(each) for each in there]))
    begin = opened(moments[0])
    for moment in moments:
        now = opened(moment)
        if any(allowlist in over for allowlist, _ in now):
            assert now <= begin


@given(CONTENTS, CONTENTS)
def test_only_what_was_or_will_be_open_is_open(before: Content, after: Content) -> None:
    """On the way nothing is open that was not before and is not afterwards."""
    there, wanted = policies(before), policies(after)
    moments = after_each(there, plan_of(wanted, [live(each) for each in there]))
    for moment in moments:
        assert opened(moment) <= opened(moments[0]) | opened(moments[-1])


@given(CONTENTS)
def test_what_closes_the_namespace_is_written_first(after: Content) -> None:
    """In a new namespace the default deny is the first write."""
    steps = plan_of(policies(after), []).steps
    made = [each.wanted["metadata"]["name"] for each in steps if isinstance(each, Apply)]
    assert made[: len(FLOOR)] == list(FLOOR)


@given(CONTENTS)
def test_out_of_enrolment_what_opens_goes_last(before: Content) -> None:
    """Nothing that is open closes on the way: the default deny goes first."""
    there = policies(before)
    steps = plan_of([], [live(each) for each in there]).steps
    gone = [each.live.name for each in steps if isinstance(each, Delete)]
    assert gone[: len(FLOOR)] == list(FLOOR)
    assert set(gone) == {each["metadata"]["name"] for each in there}


@given(CONTENTS, CONTENTS)
def test_policies_of_others_are_neither_written_nor_deleted(
    before: Content, after: Content
) -> None:
    """Whatever they are called."""
    theirs = [live(each, ours=False) for each in policies(before)]
    plan = plan_of(policies(after), theirs)
    touched = {
        each.live.name if isinstance(each, Delete) else each.wanted["metadata"]["name"]
        for each in plan.steps
    }
    assert touched.isdisjoint({each.name for each in theirs})
    wanted = {each["metadata"]["name"] for each in policies(after)}
    assert {each.name for each in plan.taken} == wanted & {each.name for each in theirs}


def test_an_address_that_moves_between_policies_is_added_before_it_is_taken() -> None:
    """A new policy of an allowlist comes before the change of an old one."""
    there = policies({"a": [{1, 2}]})
    plan = plan_of(policies({"a": [{1}, {2}]}), [live(each) for each in there])
    for moment in after_each(there, plan):
        assert opened(moment) == {("a", 1), ("a", 2)}


def test_a_digest_sees_everything_but_what_kube_apiserver_adds() -> None:
    """Empty lists and null are as absent; a mark, a field of spec and another field are not."""
    item = policy("sallyport-allow-a-0", {1}, "a")
    stored = {
        **item,
        "metadata": {
            **item["metadata"],
            "uid": "u",
            "managedFields": [],
            "labels": {**item["metadata"]["labels"], "other": "label"},
        },
        "status": {"conditions": []},
    }
    same = {**stored, "spec": {**item["spec"], "ingress": [], "other": None}}
    assert digest_of(item) == digest_of(stored) == digest_of(same)
    for other in (
        {**item, "specs": [{}]},
        {**item, "spec": {**item["spec"], "ports": [1, 2]}},
        {**item, "metadata": {**item["metadata"], "annotations": {}}},
        {**item, "metadata": {**item["metadata"], "labels": {}}},
    ):
        assert digest_of(other) != digest_of(item)
