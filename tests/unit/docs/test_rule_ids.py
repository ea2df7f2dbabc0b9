"""The ids of rules that Python writes are found in the code, each with its module."""

from pathlib import Path

from docs.generate.rule_ids import find_rule_ids


def test_constant_and_built_id_are_found_with_their_modules(tmp_path: Path) -> None:
    """An id counts wherever it is written, also by a function that puts the area before it."""
    for room in ("admission", "core", "identity"):
        (tmp_path / room).mkdir()
    (tmp_path / "core" / "decision.py").write_text('REQUIRED = "sandbox/required"\n')
    (tmp_path / "admission" / "check.py").write_text(
        'def warn(rule: str) -> str:\n    return f"egress/{rule}"\n\n\nwarn("broad")\n'
        'print("sandbox/required", "text/plain", "identity/")\n'
    )
    (tmp_path / "identity" / "intent.py").write_text('warn("lasting")\n')
    assert find_rule_ids(tmp_path) == {
        "egress/broad": ["admission/check.py"],
        "egress/lasting": ["identity/intent.py"],
        "sandbox/required": ["admission/check.py", "core/decision.py"],
    }


def test_rules_of_each_kind_are_on_the_list() -> None:
    """A constant, an id that is written in place, and a warning of an intent."""
    found = find_rule_ids()
    assert {"sandbox/required", "approvals/own", "weights/grant", "egress/broad"} <= found.keys()
