"""Built-in functions that can fail on arguments of the right type.

The evaluation ends with an error then, and the object is refused: a rule that tests the shape first
refuses with its own words instead.
"""

from collections.abc import Mapping
from typing import Final

_NO_NETWORK: Final = "a text that is no address or network"
_NO_PATTERN: Final = "a pattern that is no regular expression"
_NO_AMOUNT: Final = "a text that is no amount, or has an unknown unit"
_NO_TIME: Final = "a text that is no such time, or one outside 1677 to 2262"
_NO_ZONE: Final = "a number that is no time, or a zone that there is not"
_NOT_WHOLE: Final = "a number that is not whole"

CAN_FAIL: Final[Mapping[str, str]] = {
    "base64.decode": "a text that is no base64",
    "base64url.decode": "a text that is no base64url",
    "bits.and": _NOT_WHOLE,
    "bits.lsh": "a number that is not whole, or a shift below zero",
    "bits.negate": _NOT_WHOLE,
    "bits.or": _NOT_WHOLE,
    "bits.rsh": "a number that is not whole, or a shift below zero",
    "bits.xor": _NOT_WHOLE,
    "cast_array": "any other type",
    "cast_boolean": "any other type",
    "cast_null": "any other type",
    "cast_object": "any other type",
    "cast_set": "any other type",
    "cast_string": "any other type",
    "div": "division by zero",
    "format_int": "a base that is not 2, 8, 10 or 16",
    "glob.match": "a pattern that is no glob",
    "graph.reachable_paths": "a graph of too many paths",
    "hex.decode": "a text that is no hexadecimal, or no UTF-8",
    "indexof": "an empty text to look for",
    "indexof_n": "an empty text to look for",
    "json.marshal_with_options": "an option that there is not",
    "json.patch": "a path that there is not, a test that fails, an operation that is none",
    "json.unmarshal": "a text that is no JSON",
    "net.cidr_contains": _NO_NETWORK,
    "net.cidr_contains_matches": _NO_NETWORK,
    "net.cidr_expand": "a text that is no network, or one of more than 4,096 addresses",
    "net.cidr_intersects": _NO_NETWORK,
    "net.cidr_merge": _NO_NETWORK,
    "net.cidr_overlap": _NO_NETWORK,
    "numbers.range": _NOT_WHOLE,
    "numbers.range_step": "a number that is not whole, or a step below one",
    "object.subset": "values of two types",
    "re_match": _NO_PATTERN,
    "regex.find_all_string_submatch_n": _NO_PATTERN,
    "regex.find_n": _NO_PATTERN,
    "regex.match": _NO_PATTERN,
    "regex.replace": _NO_PATTERN,
    "regex.split": _NO_PATTERN,
    "regex.template_match": _NO_PATTERN,
    "rem": "division by zero, or a number that is not whole",
    "semver.compare": "a text that is no version",
    "sprintf": "a text of more than a million characters, or a float with # or %b, %x",
    "strings.split_n": _NOT_WHOLE,
    "substring": "an offset below zero",
    "time.add_date": _NO_ZONE,
    "time.clock": _NO_ZONE,
    "time.date": _NO_ZONE,
    "time.diff": _NO_ZONE,
    "time.format": _NO_ZONE,
    "time.parse_duration_ns": "a text that is no duration",
    "time.parse_ns": _NO_TIME,
    "time.parse_rfc3339_ns": _NO_TIME,
    "time.weekday": _NO_ZONE,
    "to_number": "a text that is no decimal number, or beyond any of 64 bits",
    "units.parse": _NO_AMOUNT,
    "units.parse_bytes": _NO_AMOUNT,
    "urlquery.decode": "a % without two hexadecimal digits, or no UTF-8",
    "urlquery.decode_object": "a % without two hexadecimal digits, a ;, or no UTF-8",
    "urlquery.encode_object": "values that are no strings",
    "uuid.parse": "a text that is no UUID: undefined, without an error",
}
"""By Rego name: on what it fails."""
