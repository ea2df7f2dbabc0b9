"""Places are found in the WeightStores that hold them."""

import random

import pytest

from audit.access.parsers.store_index import WeightStores
from tests.harness.worlds.storage_logs import ACCOUNT
from tests.unit.audit.access.parsers.stores import parsed, store

INDEX = WeightStores(
    [
        store("all", ACCOUNT, {"name": "shared"}),
        store("gpt", ACCOUNT, {"name": "shared", "prefixes": ["gpt/", "gpt-old/"]}),
        store("deep", ACCOUNT, {"name": "other", "prefixes": ["models/llama/final/"]}),
    ]
)


@pytest.mark.parametrize(
    ("container", "blob", "found"),
    [
        ("shared", "gpt/1.bin", "gpt"),
        ("shared", "notes.txt", "all"),
        ("shared", "", "all"),
        ("other", "models/llama/final/1", "deep"),
        ("other", "models/llama/draft/1", ""),
        ("other", "models//llama/./final/1", "deep"),
        ("other", "x/../models/llama/final/1", "deep"),
        ("other", "models\\llama\\final\\1", "deep"),
        ("other", "/models/llama/final/1", "deep"),
        ("other", "./models/llama/final/1", "deep"),
        ("other", "../models/llama/final/1", ""),
        ("third", "", ""),
        ("", "", "all"),
    ],
)
def test_the_longest_prefix_counts_and_paths_cannot_hide(
    container: str, blob: str, found: str
) -> None:
    """`a//b` and `a/../b` are looked at as storage may understand them too."""
    assert INDEX.find(ACCOUNT, container, blob) == found
    assert INDEX.find("another", container, blob) == ""


def test_what_is_done_to_a_folder_is_done_to_what_lies_in_it() -> None:
    """Deleting or renaming a parent of the weights is of their store."""
    assert INDEX.find_below(ACCOUNT, "other", "models") == "deep"
    assert INDEX.find_below(ACCOUNT, "other", "models/llama/") == "deep"
    assert INDEX.find_below(ACCOUNT, "other", "mod") == ""
    assert INDEX.find_below(ACCOUNT, "other", "models\\llama") == "deep"
    assert parsed(operation="RenamePathDir", blob="run-7").store == "llama"


def test_the_index_says_what_the_stores_say() -> None:
    """For random places the index finds a store exactly where one holds the place."""
    drawn = random.Random(3)  # noqa: S311
    words = ["gpt", "gpt-old", "models", "llama", "final", "x"]
    for _ in range(2000):
        blob = "/".join(drawn.choices(words, k=drawn.randint(1, 4)))
        container = drawn.choice(["shared", "other", "third"])
        holds = any(s.holds(ACCOUNT, container, blob) for s in INDEX.by_name.values())
        assert bool(INDEX.find(ACCOUNT, container, blob)) == holds
