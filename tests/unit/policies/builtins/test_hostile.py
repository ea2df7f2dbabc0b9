"""Nothing can interrupt a function of the host: hostile arguments end at once, as they may."""

import json
import time
from typing import Any

import pytest

from policies.builtins.registry import SUPPLIED
from policies.builtins.values import ask

SECONDS = 0.5
"""Ten times what the slowest takes on a quiet machine."""

MOST_BYTES = 2_000_000
"""Of an answer."""

LONG = "a" * 100_000
NESTED = json.loads("[" * 90 + "]" * 90)
MANY = [f"{number:x}" for number in range(15_000)]
CROWDED = {f"k{node}": [f"k{other}" for other in range(30)] for node in range(30)}

HOSTILE: list[tuple[str, list[Any]]] = [
    ("units.parse", ["1e4000000"]),
    ("units.parse", ["1e999999"]),
    ("units.parse", ["9" * 100_000]),
    ("units.parse", ["1" + "e1" * 50_000]),
    ("units.parse_bytes", ["1e-999999"]),
    ("units.parse_bytes", ["0." + "0" * 100_000 + "1"]),
    ("semver.compare", [f"1.0.0-{LONG}", f"1.0.0-{LONG}"]),
    ("semver.is_valid", ["1.0.0-" + "1." * 60_000 + "a"]),
    ("semver.compare", ["9" * 60_000 + ".0.0", "1.0.0"]),
    ("sprintf", ["%1000000000d", [1]]),
    ("sprintf", ["%1000000d" * 1000, [1] * 1000]),
    ("sprintf", ["%.1000000f", [1.5]]),
    ("sprintf", ["%.999999d" * 50, [1] * 50]),
    ("sprintf", ["%*d", [999_999, 1]]),
    ("sprintf", ["%[" * 8000, []]),
    ("sprintf", ["%d" * 8000, []]),
    ("sprintf", ["", list(range(4096))]),
    ("sprintf", ["%v", [NESTED]]),
    ("sprintf", ["%d", [int("9" * 4000)]]),
    ("sprintf", ["%q", [LONG]]),
    ("sprintf", ["%# x" * 5, [LONG[:20_000]] * 5]),
    ("indexof_n", [LONG, LONG[:50_000]]),
    ("indexof_n", [LONG, "a"]),
    ("strings.count", [LONG, "a"]),
    ("strings.split_n", [LONG, "", 2**62]),
    ("strings.any_prefix_match", [MANY, MANY[::-1]]),
    ("strings.any_suffix_match", [[LONG[:200]] * 300, [LONG[:200] + "b"] * 300]),
    ("regex.find_n", ["(a*)*b", LONG, -1]),
    ("regex.find_n", ["a.*b|a", LONG, -1]),
    ("regex.find_n", ["(?:a?){500}a{500}", LONG[:2000], -1]),
    ("regex.find_n", ["((a{100}){100}){100}", "a", -1]),
    ("regex.find_n", ["(.*a){20}", LONG[:20_000], -1]),
    ("regex.find_n", ["(" * 4000, "a", -1]),
    ("regex.replace", [LONG[:1000], "", LONG[:90_000]]),
    ("regex.replace", [LONG[:1500], "a", "$0" * 20_000]),
    ("regex.split", ["", LONG]),
    ("regex.template_match", ["{" * 50_000 + "}" * 50_000, "a", "{", "}"]),
    ("regex.template_match", ["{a}" * 20_000, "a", "{", "}"]),
    ("net.cidr_expand", ["0.0.0.0/0"]),
    ("net.cidr_expand", ["::/0"]),
    ("net.cidr_expand", ["10.0.0.0/20"]),
    ("net.cidr_merge", [[f"10.{n >> 8}.{n & 255}.0/24" for n in range(0, 2048, 2)]]),
    ("net.cidr_merge", [["::1/128", "ffff::/16", "0.0.0.0/0", "fe80::/10"]]),
    ("net.cidr_contains_matches", [["10.0.0.0/8"] * 4000, ["10.0.0.1"] * 4000]),
    ("net.cidr_contains_matches", [["10.0.0.0/8"] * 64, ["10.0.0.1"] * 64]),
    ("net.cidr_is_valid", [f"{LONG}/8"]),
    ("numbers.range_step", [0, 10**18, 1]),
    ("numbers.range_step", [0, 20_000, 1]),
    ("graph.reachable_paths", [CROWDED, ["k0"]]),
    ("graph.reachable_paths", [{str(n): [str(n + 1)] for n in range(5000)}, ["0"]]),
    ("object.subset", [MANY, MANY[1:]]),
    ("object.subset", [NESTED, NESTED]),
    ("object.subset", [dict.fromkeys(MANY[:200], MANY[:50])] * 2),
    ("json.patch", [{}, [{"op": "add", "path": "/a" * 30_000, "value": 1}]]),
    ("json.patch", [MANY[:5000], [{"op": "add", "path": "/0", "value": 1}] * 200]),
    ("json.patch", [{"a": "x" * 1000}, [{"op": "copy", "from": "", "path": "/a"}] * 200]),
    ("json.patch", [{"a": [1]}, [{"op": "copy", "from": "/a", "path": "/a/-"}] * 200]),
    ("json.patch", [["x" * 60_000], [{"op": "copy", "from": "/0", "path": "/-"}] * 200]),
    ("json.marshal_with_options", [NESTED, {"indent": LONG}]),
    ("json.marshal_with_options", [MANY[:5000], {"prefix": LONG[:1000], "indent": " "}]),
    ("time.parse_ns", ["2" * 100_000, "1"]),
    ("time.parse_ns", [" " * 1000, " " * 1000]),
    ("time.parse_ns", ["_2" * 500, "1" * 1000]),
    ("time.format", [[0, "UTC", "2006" * 250]]),
    ("time.format", [[0, "A/" * 40_000]]),
    ("time.add_date", [0, 2**62, 2**62, 2**62]),
    ("time.parse_duration_ns", ["1h" * 500]),
    ("time.parse_duration_ns", ["1d" * 50_000]),
    ("time.parse_duration_ns", ["9" * 900 + "y"]),
    ("urlquery.decode", ["%41" * 40_000]),
    ("urlquery.decode_object", ["a&" * 60_000]),
    ("urlquery.decode_object", ["a=1&" * 9000]),
    ("uuid.parse", [LONG]),
    ("hex.decode", ["61" * 60_000]),
    ("crypto.hmac.sha512", [LONG, LONG[:20_000]]),
    ("glob.quote_meta", ["*" * 120_000]),
]


@pytest.mark.parametrize(
    ("name", "arguments"), HOSTILE, ids=[f"{n}-{name}" for n, (name, _) in enumerate(HOSTILE)]
)
def test_hostile_arguments_end_at_once(name: str, arguments: list[Any]) -> None:
    """In time and memory, whatever comes of them; measured as processor time."""
    written = [json.dumps(each).encode() for each in arguments]
    start = time.process_time()
    try:
        answer = ask(SUPPLIED[name], written)
    except ValueError:
        answer = b""
    assert time.process_time() - start < SECONDS
    assert answer is not None or name == "uuid.parse"
    assert len(answer or b"") <= MOST_BYTES


@pytest.mark.parametrize(
    "text", [b"[" * 5000 + b"]" * 5000, b"{" * 5000 + b"}" * 5000, b"set(" * 9, b'{1, "a'], ids=len
)
def test_hostile_values_are_errors(text: bytes) -> None:
    """What is nested deeply, or breaks off, is refused before a function sees it."""
    with pytest.raises(ValueError, match=r"nested more than|unknown shape"):
        ask(SUPPLIED["sprintf"], [b'"%v"', text])


def test_sizes_are_limited() -> None:
    """All arguments together have a size beyond which none is asked."""
    with pytest.raises(ValueError, match="its arguments take more than 131072 bytes"):
        ask(SUPPLIED["crypto.md5"], [json.dumps("a" * 131072).encode()])
