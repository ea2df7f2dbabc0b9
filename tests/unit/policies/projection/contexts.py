"""Contexts of requests, for property tests."""

from hypothesis import strategies as st

from policies.projection.model import ABSENT, Context, Standings

TEXTS = st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF), max_size=5)
"""Beyond those OPA's WebAssembly writes some characters as others (test_rego_wasm.py)."""

CONTEXTS = st.builds(
    Context,
    operation=st.sampled_from(["CREATE", "UPDATE", "CONNECT", ""]),
    subresource=st.sampled_from(["", "exec", "attach", "portforward", "proxy"]),
    requester=st.sampled_from(["human", "service-account", ""]),
    groups=st.lists(TEXTS, max_size=3).map(tuple),
    namespace_labels=st.dictionaries(TEXTS, TEXTS, max_size=3),
    new_service_account=st.booleans(),
    services=st.lists(TEXTS, max_size=3).map(tuple),
    risk=st.builds(Standings, *(3 * [st.sampled_from(["", "clean", "medium", "stale"])])),
    behaviour=st.lists(st.sampled_from(["unusual-hour", "exec-burst"]), max_size=2).map(tuple),
    absent=st.sampled_from([ABSENT, (), ("egress",)]),
)
