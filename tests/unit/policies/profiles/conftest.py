"""The shipped profiles in force, and the real engine asked about real Pods."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from core.kubernetes import pod as k8s
from core.profiles.container_profiles import ProfileSet, build_profile_set
from kube.cluster.folder import read_profiles
from policies import SHIPPED_PROFILES
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.interface import PolicyAnswer
from policies.projection.model import encode
from policies.projection.pods import project

Ask = Callable[[dict[str, Any]], PolicyAnswer]


@pytest.fixture(scope="session")
def shipped() -> ProfileSet:
    """All shipped profiles, on a cluster of version 1.37."""
    return build_profile_set(read_profiles([SHIPPED_PROFILES]), (1, 37))


@pytest.fixture(scope="session")
def ask(builtin_engine: EmbeddedEngine) -> Ask:
    """What the built-in rules say of a Pod."""

    def ask_engine(pod: dict[str, Any]) -> PolicyAnswer:
        projection = project(k8s.decode_pod(json.dumps(pod).encode()))
        return asyncio.run(builtin_engine.ask(encode(projection)))

    return ask_engine


@pytest.fixture(scope="session")
def uncovered(ask: Ask, shipped: ProfileSet) -> Callable[[str, dict[str, Any]], set[str]]:
    """What a Pod needs that a profile, by its name, does not cover."""

    def find(profile: str, pod: dict[str, Any]) -> set[str]:
        answer = ask(pod)
        assert answer.denials == ()
        found = shipped.by_name[profile]
        return {need.privilege for need in answer.needs if not found.covers(need.privilege)}

    return find
