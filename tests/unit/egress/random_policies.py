"""Small random NetworkPolicies: few labels, namespaces, addresses and ports, which meet often."""

from hypothesis import strategies as st

from tests.unit.egress.compiler.foreign_objects import ACCOUNT, NAME, Json, block, policy

_keys = st.sampled_from(("app", ACCOUNT))
_values = st.lists(st.sampled_from(("a", "b", "x")), min_size=1, max_size=2, unique=True)
_expressions = st.one_of(
    st.builds(
        lambda key, op, values: {"key": key, "operator": op, "values": values},
        _keys,
        st.sampled_from(("In", "NotIn")),
        _values,
    ),
    st.builds(
        lambda key, op: {"key": key, "operator": op},
        _keys,
        st.sampled_from(("Exists", "DoesNotExist")),
    ),
)
SELECTORS = st.lists(_expressions, max_size=2).map(
    lambda found: {"matchExpressions": found} if found else {}
)
SPACE_SELECTORS: st.SearchStrategy[Json] = st.one_of(
    st.just({}),
    st.just({"matchLabels": {"team": "x"}}),
    st.just({"matchLabels": {"team": "x", NAME: "data"}}),
    st.just({"matchExpressions": [{"key": "team", "operator": "In", "values": ["x", "y"]}]}),
    st.just({"matchExpressions": [{"key": NAME, "operator": "NotIn", "values": ["ml"]}]}),
    st.just({"matchExpressions": [{"key": NAME, "operator": "In", "values": ["ml", "web"]}]}),
    SELECTORS,
    st.sampled_from(("ml", "data", "web")).map(lambda name: {"matchLabels": {NAME: name}}),
)
BLOCKS = st.one_of(
    st.sampled_from(("10.0.0.0/29", "10.0.0.0/30", "10.0.0.4/30", "10.0.0.12/32")).map(block),
    st.sampled_from(("fd00::/125", "fd00::4/126", "::/0", "0.0.0.0/0")).map(block),
    st.sampled_from(("10.0.0.3/32", "10.0.0.4/30")).map(lambda hole: block("10.0.0.0/28", hole)),
)
POD_PEERS = st.one_of(
    SELECTORS.map(lambda found: {"podSelector": found}),
    st.builds(lambda a, b: {"podSelector": a, "namespaceSelector": b}, SELECTORS, SPACE_SELECTORS),
)
NUMBERED_PORTS = st.builds(
    lambda protocol, first, more: {
        "protocol": protocol,
        "port": first,
        **({"endPort": first + more} if more else {}),
    },
    st.sampled_from(("TCP", "UDP")),
    st.integers(1, 4),
    st.integers(0, 1),
)
PORTS = st.one_of(
    NUMBERED_PORTS,
    st.sampled_from(("TCP", "UDP")).map(lambda protocol: {"protocol": protocol, "port": "web"}),
    st.just({"protocol": "TCP"}),
)


def egress_policies(
    peers: st.SearchStrategy[Json], ports: st.SearchStrategy[Json] = PORTS
) -> st.SearchStrategy[Json]:
    """Return policies of the namespace `ml` about egress, with such peers and ports."""
    rules = st.builds(
        lambda to, ports: {"to": to, "ports": ports},
        st.lists(peers, max_size=3),
        st.lists(ports, max_size=3),
    )
    return st.builds(
        lambda egress, selects: policy(*egress, selects=selects),
        st.lists(rules, min_size=1, max_size=2),
        SELECTORS,
    )


def policies() -> st.SearchStrategy[Json]:
    """Return policies of any of the namespaces `ml`, `data` and `web`, about either direction."""

    def build(namespace: str, selects: Json, rules: Json, types: list[str] | None) -> Json:
        spec = {"podSelector": selects, **rules, **({"policyTypes": types} if types else {})}
        return {"metadata": {"name": "random", "namespace": namespace}, "spec": spec}

    peers, ports = st.one_of(BLOCKS, POD_PEERS), st.lists(PORTS, max_size=2)
    return st.builds(
        build,
        st.sampled_from(("ml", "data", "web")),
        SELECTORS,
        st.fixed_dictionaries(
            {},
            optional={
                "egress": st.lists(
                    st.fixed_dictionaries({"to": st.lists(peers, max_size=2), "ports": ports}),
                    max_size=2,
                ),
                "ingress": st.lists(
                    st.fixed_dictionaries({"from": st.lists(peers, max_size=2), "ports": ports}),
                    max_size=2,
                ),
            },
        ),
        st.sampled_from((None, ["Ingress"], ["Egress"], ["Ingress", "Egress"])),
    )
