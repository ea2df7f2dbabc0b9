"""Built-in functions that OPA 1.22 itself compiles into WebAssembly (its compiler/wasm/wasm.go)."""

from typing import Final

NATIVE: Final = frozenset(
    """
    abs all and any array.concat array.flatten array.reverse array.slice base64.decode
    base64.encode base64.is_valid base64url.decode base64url.encode bits.and bits.lsh
    bits.negate bits.or bits.rsh bits.xor ceil concat contains count div endswith equal
    floor format_int glob.match graph.reachable gt gte indexof internal.member_2
    internal.member_3 internal.template_string intersection is_array is_boolean is_null
    is_number is_object is_set is_string json.filter json.is_valid json.marshal json.remove
    json.unmarshal lower lt lte max min minus mul neq net.cidr_contains net.cidr_intersects
    net.cidr_overlap numbers.range object.filter object.get object.keys object.remove
    object.union object.union_n or plus product re_match regex.find_all_string_submatch_n
    regex.is_valid regex.match rem replace round set_diff sort split startswith
    strings.replace_n strings.reverse substring sum to_number trim trim_left trim_prefix
    trim_right trim_space trim_suffix type_name union upper walk
    """.split()
)
"""By Rego name; one that fails on its arguments is undefined, as in OPA without strict errors."""
