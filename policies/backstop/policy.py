"""The back-stop itself: a ValidatingAdmissionPolicy and its binding, made from the table of rules.

CEL's budget is 10,000,000 for a policy and 1,000,000 for each expression or variable, of which an
access review takes 350,000 (k8s.io/apiserver, pkg/apis/cel/config.go, pkg/cel/library/cost.go). So
each profile is asked about in a variable of its own, at most MOST_ASKED of them, and what a Pod's
author can make long is counted before it is looked at.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from core.base import names
from core.kubernetes.workload_kinds import WORKLOADS
from policies.backstop.rules import COVERED, VAGUE, segment
from policies.projection.model import MAX_CONTAINERS, MAX_PATH
from policies.projection.volumes import WRITING_TYPES

NAME: Final = "backstop.sallyport.dev"
KIND: Final = "Backstop"
"""A kind of our own: of a built-in one kube-apiserver reads no change any more once a policy of it
was deleted and made again, until it starts anew (seen with 1.36; docs/adr/0044)."""

PARAMETERS: Final = "sallyport-backstop"
"""The object that `control` keeps."""

FORMAT: Final = "1"
"""Of the Backstop. The policy stands aside for another: `control` writes its own in seconds."""

MOST_ASKED: Final = 12
"""Profiles that are asked about: two access reviews for each are 8,400,000."""

MOST_NEEDED: Final = 4000
"""Characters of all needs of a Pod; with more, every listed profile counts as covering."""

NO_WORKLOADS: Final = ("", "coordination.k8s.io", "rbac.authorization.k8s.io")
"""Groups whose kinds are no workloads, unless the table says so (identity/subjects.py)."""

_MOST_VOLUMES: Final = 4096
_MOST_HOST_PATHS: Final = 256
_MOST_CAPABILITIES: Final = 512
_MOST_MOUNTS: Final = 4096
_MOST_COMPARED: Final = 200_000
"""Characters of mounts, for each volume that is looked for among them."""

_SHOWN: Final = 1200
"""Characters of needs in a refusal."""
_DATA: Final = "params.?spec.?data"
_GROUP: Final = f"authorizer.group('{names.GROUP}')"

Json = dict[str, Any]


def build_manifests(remedies: Mapping[str, str], namespace: str, excluded: list[str]) -> list[Json]:
    """Return the policy and its binding.

    `remedies` are the rules', by id; `excluded` are the namespaces that are left out.
    """
    return [_policy(remedies, excluded), _binding(namespace)]


def _policy(remedies: Mapping[str, str], excluded: list[str]) -> Json:
    selector = {"key": names.NAMESPACE_NAME_LABEL, "operator": "NotIn", "values": excluded}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Ignore",
            "paramKind": {"apiVersion": names.API_VERSION, "kind": KIND},
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "namespaceSelector": {"matchExpressions": [selector]},
                "resourceRules": [
                    _rule("CREATE", "pods"),
                    _rule("UPDATE", "pods/ephemeralcontainers"),
                ],
            },
            "variables": [{"name": name, "expression": text} for name, text in _VARIABLES.items()],
            "validations": [
                {
                    "expression": f"!variables.holds || {_ADMITTED}",
                    "messageExpression": _message(remedies),
                    "message": "Sallyport's back-stop refuses this Pod: no profile that you may "
                    "use here covers what it needs. Take away what is privileged of it, or ask for "
                    "the right to use a profile.",
                    "reason": "Forbidden",
                }
            ],
            "auditAnnotations": [{"key": "doubt", "valueExpression": _DOUBT}],
        },
    }


def _rule(operation: str, resource: str) -> Json:
    return {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": [operation],
        "resources": [resource],
        "scope": "Namespaced",
    }


def _binding(namespace: str) -> Json:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME},
        "spec": {
            "policyName": NAME,
            "paramRef": {
                "name": PARAMETERS,
                "namespace": namespace,
                "parameterNotFoundAction": "Allow",
            },
            "validationActions": ["Deny"],
        },
    }


def _data(key: str) -> str:
    return f"{_DATA}[?'{key}'].orValue('')"


def _of_namespace(kind: str) -> str:
    return f"{_DATA}[?('{kind}.' + request.namespace)].orValue('')"


def _group_of(owner: str) -> str:
    return f"({owner}.apiVersion.contains('/') ? {owner}.apiVersion.split('/')[0] : '')"


_KINDS: Final = sorted(kind for group, kind in WORKLOADS if group in NO_WORKLOADS)

_HOST_PATH: Final = "v.hostPath.?path.orValue('').split('/').filter(s, s != '' && s != '.')"


def _host_paths() -> str:
    writes = ", ".join(f"'{each}'" for each in sorted(WRITING_TYPES))
    lines = "\\n"
    reads = (
        f"variables.mounted.contains('{lines}r' + v.name + '{lines}') && "
        f"!variables.mounted.contains('{lines}w' + v.name + '{lines}') && "
        f"!(v.hostPath.?type.orValue('') in [{writes}])"
    )
    parts = f"{_HOST_PATH}.map(s, '/' + {segment('s')}).join('')"
    exact = (
        f"variables.paths.map(v, (({reads}) ? 'volume/hostPath:ro' : 'volume/hostPath:rw') + "
        f"({_HOST_PATH}.size() == 0 ? '/%2F' : {parts}))"
    )
    return f"!variables.onNode ? [] : variables.manyPaths ? ['{VAGUE}'] : {exact}"


def _lines(lists: Iterable[str], container: str) -> str:
    """Return the CEL of a line for each privilege of these lists."""
    every = " + ".join(each for each in lists if each)
    return f"({every}).map(n, n + '@' + {container} + '\\n').join('')"


_LABEL: Final = f"namespaceObject.metadata.?labels[?'{names.MODE_LABEL}']"
_CEILING: Final = f"namespaceObject.metadata.?annotations[?'{names.CEILING_ANNOTATION}']"
_MAPPED: Final = "variables.controllers.exists(l, l.startsWith(variables.user + '\\t'))"

_VARIABLES: Final[Mapping[str, str]] = {
    "spec": "dyn(object.spec)",
    "user": "request.userInfo.username",
    "containers": "dyn(object.spec.containers) + dyn(object.spec.?initContainers.orValue([])) + "
    "dyn(object.spec.?ephemeralContainers.orValue([]))",
    "tooMany": f"variables.containers.size() > {MAX_CONTAINERS}",
    "volumes": "dyn(object.spec.?volumes.orValue([]))",
    "manyCapabilities": "variables.containers.map(c, "
    "c.?securityContext.?capabilities.?add.orValue([]).size()).sum() > "
    f"{_MOST_CAPABILITIES}",
    "onNode": "variables.volumes.exists(v, has(v.hostPath))",
    "paths": f"variables.volumes.size() > {_MOST_VOLUMES} ? [] : "
    "variables.volumes.filter(v, has(v.hostPath))",
    "manyMounts": "variables.containers.map(c, c.?volumeMounts.orValue([]).size()).sum() > "
    f"{_MOST_MOUNTS}",
    "mounted": "variables.containers.map(c, c.?volumeMounts.orValue([])"
    ".map(m, '\\n' + (m.?readOnly.orValue(false) ? 'r' : 'w') + m.name + '\\n').join('')).join('')",
    "manyPaths": f"variables.volumes.size() > {_MOST_VOLUMES} || "
    f"variables.paths.size() > {_MOST_HOST_PATHS} || variables.manyMounts || "
    f"variables.paths.map(v, v.hostPath.?path.orValue('').size()).sum() > {2 * MAX_PATH} || "
    f"variables.mounted.size() * variables.paths.size() > {_MOST_COMPARED}",
    "hostPaths": _host_paths(),
    "exact": _lines((each.of_pod for each in COVERED), "''")
    + " + variables.containers.map(c, "
    + _lines((each.of_container for each in COVERED), "c.name")
    + ").join('')",
    "needs": f"variables.tooMany || variables.exact.size() > {MOST_NEEDED} ? '{VAGUE}@\\n' : "
    "variables.exact",
    "readable": f"{_data('format')} == '{FORMAT}'",
    "mirrors": f"object.metadata.?annotations[?'{names.MIRROR_ANNOTATION}'].hasValue() && "
    "variables.user.startsWith('system:node:') && "
    "request.userInfo.?groups.orValue([]).exists(g, g == 'system:nodes')",
    "same": "request.operation == 'UPDATE' && "
    "object.spec.?ephemeralContainers == oldObject.spec.?ephemeralContainers",
    "isNew": f"{_data('newMode')} != '' && "
    "timestamp(string(namespaceObject.metadata.creationTimestamp)) >= "
    f"timestamp({_data('newSince')})",
    "enforced": f"{_data('leastMode')} == 'enforce' || ({_LABEL}.hasValue() ? "
    f"!({_LABEL}.orValue('') in ['audit', 'warn']) : "
    f"(variables.isNew ? {_data('newMode')} : {_data('defaultMode')}) == 'enforce')",
    "holds": "variables.readable && variables.enforced && !variables.same && !variables.mirrors "
    "&& variables.needs != ''",
    "owners": "dyn(object.metadata.?ownerReferences.orValue([]))",
    "controllers": f"{_data('controllers')}.split('\\n')",
    "made": f"{_MAPPED} && variables.owners.exists(o, (variables.user + '\\t' + o.kind + '.' + "
    f"{_group_of('o')}) in variables.controllers)",
    "ofWorkload": "variables.owners.exists(o, "
    f"!({_group_of('o')} in {list(NO_WORKLOADS)}) || "
    f"{_group_of('o')} == '' && o.kind in {_KINDS})",
    "account": "object.spec.?serviceAccountName.orValue('') == '' ? 'default' : "
    "object.spec.serviceAccountName",
    "asksAccount": "variables.made || request.operation == 'CREATE' && "
    f"({_MAPPED} || variables.ofWorkload) && variables.user != "
    "'system:serviceaccount:' + request.namespace + ':' + variables.account",
    "glass": _of_namespace("glass"),
    "excuses": f"{_of_namespace('excuses')}.split('\\n')",
    "left": "variables.needs.split('\\n').filter(n, n != '' && "
    "!(variables.excuses[0] == '*') && "
    f"!(n == '{VAGUE}@' && (variables.excuses[0] != '' || variables.glass != '')) && "
    "!((object.metadata.?name.orValue('') + '\\t' + n) in variables.excuses) && "
    "!(variables.made && ('\\t' + n) in variables.excuses) && "
    "!(variables.glass != '' && n.matches('^(?:' + variables.glass + ')@')))"
    ".map(n, n + '\\n').join('')",
    "ceiling": f"{_CEILING}.orValue('').split(',').map(n, n.trim())",
    "candidates": f"{_data('profiles')}.split('\\n').map(l, l.split('\\t')).filter(p, "
    f"p.size() == 2 && (!{_CEILING}.hasValue() || p[0] in variables.ceiling) && "
    "(p[1] == '' || variables.left.matches('^(?:(?:' + p[1] + "
    f"'|[{VAGUE}])@[^\\\\n]*\\\\n)*$'))).map(p, p[0])",
    "shown": "variables.left.split('\\n').filter(n, n != '').map(n, n.split('@')).map(n, "
    f"(n[0] == '{VAGUE}' ? 'more privileges than can be listed' : n[0]) + "
    "(n[1] == '' ? '' : ' (container ' + n[1] + ')')).join(', ')",
    **{
        f"may{place}": f"variables.candidates.size() > {place} && (variables.made || "
        f"{_GROUP}.resource('{names.PROFILES_RESOURCE}').namespace(request.namespace)"
        f".name(variables.candidates[{place}]).check('{names.USE_VERB}').allowed()) && "
        "(!variables.asksAccount || authorizer.serviceAccount(request.namespace, variables.account)"
        f".group('{names.GROUP}').resource('{names.PROFILES_RESOURCE}')"
        f".namespace(request.namespace).name(variables.candidates[{place}])"
        f".check('{names.USE_VERB}').allowed())"
        for place in range(MOST_ASKED)
    },
}
"""By name, each after those that it uses."""

_MAY: Final = " || ".join(f"variables.may{place}" for place in range(MOST_ASKED))
_ADMITTED: Final = f"variables.left == '' || variables.candidates.size() > {MOST_ASKED} || {_MAY}"
_DOUBT: Final = (
    "variables.needs == '' ? '' : "
    "!variables.readable ? 'the parameters are of another format: nothing was held' : "
    f"variables.candidates.size() <= {MOST_ASKED} || !variables.holds || variables.left == '' || "
    f"{_MAY} ? '' : "
    "string(variables.candidates.size()) + ' profiles may cover it, more than are asked about'"
)
"""Why a Pod was admitted that perhaps nobody may have made; nothing where there is no doubt."""


def _message(remedies: Mapping[str, str]) -> str:
    """Return the CEL of one line: what is needed, by which container, and what to do about each."""
    advice = [
        f"({_found(each.patterns)} ? ' {_quoted(remedies[each.rule])}' : '')" for each in COVERED
    ]
    who = (
        "(variables.made ? 'its service account ' + variables.account : variables.asksAccount ? "
        "'you and its service account ' + variables.account + ' both' : 'you')"
    )
    return (
        f"'Sallyport\\'s back-stop refuses this Pod: no profile that ' + {who} + "
        "' may use in namespace ' + request.namespace + ' covers all of: ' + "
        f"(variables.shown.size() > {_SHOWN} ? variables.shown.substring(0, {_SHOWN}) + ' ...' : "
        f"variables.shown) + '.' + {' + '.join(advice)}"
    )


def _found(patterns: tuple[str, ...]) -> str:
    """Return the CEL of whether any need left is one of these."""
    starts = sorted({each.rstrip("*").rstrip("/") for each in patterns})
    return " || ".join(f"('\\n' + variables.left).contains('\\n{each}')" for each in starts)


def _quoted(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'")
