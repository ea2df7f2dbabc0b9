"""Functions that OPA 1.22 compiles into WebAssembly, and what the host says in their place.

OPA's list is its compiler/wasm/wasm.go. docs/adr/0056-strict-built-ins.md says how a policy comes
to ask the host.
"""

import enum
from collections.abc import Callable, Mapping
from typing import Any, Final

from policies.builtins import arguments, encoding, globs, networks, objects, regexes, strings
from policies.builtins.fallible import CAN_FAIL
from policies.builtins.values import UNDEFINED, Set

NATIVE: Final[Mapping[str, str]] = {
    "abs": "opa_arith_abs",
    "all": "opa_agg_all",
    "and": "opa_set_intersection",
    "any": "opa_agg_any",
    "array.concat": "opa_array_concat",
    "array.flatten": "opa_array_flatten",
    "array.reverse": "opa_array_reverse",
    "array.slice": "opa_array_slice",
    "base64.decode": "opa_base64_decode",
    "base64.encode": "opa_base64_encode",
    "base64.is_valid": "opa_base64_is_valid",
    "base64url.decode": "opa_base64_url_decode",
    "base64url.encode": "opa_base64_url_encode",
    "bits.and": "opa_bits_and",
    "bits.lsh": "opa_bits_shiftleft",
    "bits.negate": "opa_bits_negate",
    "bits.or": "opa_bits_or",
    "bits.rsh": "opa_bits_shiftright",
    "bits.xor": "opa_bits_xor",
    "ceil": "opa_arith_ceil",
    "concat": "opa_strings_concat",
    "contains": "opa_strings_contains",
    "count": "opa_agg_count",
    "div": "opa_arith_divide",
    "endswith": "opa_strings_endswith",
    "equal": "opa_cmp_eq",
    "floor": "opa_arith_floor",
    "format_int": "opa_strings_format_int",
    "glob.match": "opa_glob_match",
    "graph.reachable": "builtin_graph_reachable",
    "gt": "opa_cmp_gt",
    "gte": "opa_cmp_gte",
    "indexof": "opa_strings_indexof",
    "internal.member_2": "builtin_member",
    "internal.member_3": "builtin_member3",
    "internal.template_string": "opa_template_string",
    "intersection": "opa_sets_intersection",
    "is_array": "opa_types_is_array",
    "is_boolean": "opa_types_is_boolean",
    "is_null": "opa_types_is_null",
    "is_number": "opa_types_is_number",
    "is_object": "opa_types_is_object",
    "is_set": "opa_types_is_set",
    "is_string": "opa_types_is_string",
    "json.filter": "builtin_json_filter",
    "json.is_valid": "opa_json_is_valid",
    "json.marshal": "opa_json_marshal",
    "json.remove": "builtin_json_remove",
    "json.unmarshal": "opa_json_unmarshal",
    "lower": "opa_strings_lower",
    "lt": "opa_cmp_lt",
    "lte": "opa_cmp_lte",
    "max": "opa_agg_max",
    "min": "opa_agg_min",
    "minus": "opa_arith_minus",
    "mul": "opa_arith_multiply",
    "neq": "opa_cmp_neq",
    "net.cidr_contains": "opa_cidr_contains",
    "net.cidr_intersects": "opa_cidr_intersects",
    "net.cidr_overlap": "opa_cidr_contains",
    "numbers.range": "opa_numbers_range",
    "object.filter": "builtin_object_filter",
    "object.get": "builtin_object_get",
    "object.keys": "builtin_object_keys",
    "object.remove": "builtin_object_remove",
    "object.union": "builtin_object_union",
    "object.union_n": "builtin_object_union_n",
    "or": "opa_set_union",
    "plus": "opa_arith_plus",
    "product": "opa_agg_product",
    "regex.find_all_string_submatch_n": "opa_regex_find_all_string_submatch",
    "regex.is_valid": "opa_regex_is_valid",
    "regex.match": "opa_regex_match",
    "rem": "opa_arith_rem",
    "replace": "opa_strings_replace",
    "round": "opa_arith_round",
    "set_diff": "opa_set_diff",
    "sort": "opa_agg_sort",
    "split": "opa_strings_split",
    "startswith": "opa_strings_startswith",
    "strings.replace_n": "opa_strings_replace_n",
    "strings.reverse": "opa_strings_reverse",
    "substring": "opa_strings_substring",
    "sum": "opa_agg_sum",
    "to_number": "opa_to_number",
    "trim": "opa_strings_trim",
    "trim_left": "opa_strings_trim_left",
    "trim_prefix": "opa_strings_trim_prefix",
    "trim_right": "opa_strings_trim_right",
    "trim_space": "opa_strings_trim_space",
    "trim_suffix": "opa_strings_trim_suffix",
    "type_name": "opa_types_name",
    "union": "opa_sets_union",
    "upper": "opa_strings_upper",
    "walk": "opa_value_transitive_closure",
    "re_match": "opa_regex_match",
}
"""By Rego name: the function of OPA's runtime. Of two names that share one, the first is said."""


REPLACED: Final[Mapping[str, Callable[..., Any]]] = {
    "base64.decode": encoding.base64_decode,
    "base64.is_valid": encoding.base64_is_valid,
    "base64url.decode": encoding.base64url_decode,
    "glob.match": globs.match,
    "json.is_valid": encoding.json_is_valid,
    "json.marshal": lambda value: encoding.json_marshal_with_options(value, {}),
    "json.unmarshal": encoding.json_unmarshal,
    "net.cidr_contains": networks.contains,
    "net.cidr_intersects": networks.intersects,
    "net.cidr_overlap": networks.contains,
    "object.union_n": objects.union_n,
    "to_number": objects.to_number,
}
"""Which never run as OPA compiles them: they take for base64, JSON, a network, a number or an array
what is none, have `*` stop at a new line and IPv4 within IPv6 be another address, or write keys in
another order."""


class CallGuard(enum.Enum):
    """Of which argument the host is asked at once."""

    EMPTY = "empty"
    """Second, an empty text: compiled in, `replace` does not end, and `indexof` finds it."""
    NUL = "nul"
    """First, a text with a NUL: compiled in, an expression ends there."""
    SET = "set"
    """Second: compiled in, `concat` joins its members in another order."""


GUARDS: Final[Mapping[str, CallGuard]] = {
    "concat": CallGuard.SET,
    "indexof": CallGuard.EMPTY,
    "regex.find_all_string_submatch_n": CallGuard.NUL,
    "regex.match": CallGuard.NUL,
    "replace": CallGuard.EMPTY,
}


def without_value(name: str) -> Callable[..., Any]:
    """Return the stand-in of a function that has no value for its arguments.

    It has one, says that there is none, or raises ValueError where OPA's own function fails.
    """
    return REPLACED.get(name) or _OTHERS.get(name) or _failing(name)


def _failing(name: str) -> Callable[..., Any]:
    def fail(*given: Any) -> Any:
        kinds = ", ".join(map(arguments.type_name, given))
        on = f"; it fails on {CAN_FAIL[name]}" if name in CAN_FAIL else ""
        raise ValueError(f"it has no value for what it is given ({kinds}){on}")

    return fail


def _of_nothing(name: str) -> Callable[..., Any]:
    """Return a function that is undefined for an empty list or set, and fails on all else."""
    fail = _failing(name)

    def of(given: Any) -> Any:
        return UNDEFINED if isinstance(given, (list, Set)) and not len(given) else fail(given)

    return of


_OTHERS: Final[Mapping[str, Callable[..., Any]]] = {
    "concat": strings.concat,
    "max": _of_nothing("max"),
    "min": _of_nothing("min"),
    "regex.find_all_string_submatch_n": regexes.find_all_string_submatch_n,
    "regex.match": regexes.match,
    "replace": strings.replace,
}
