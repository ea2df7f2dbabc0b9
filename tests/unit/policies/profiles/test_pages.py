"""Each shipped profile has a page that argues each of its lines, and says no more than is true."""

import re

import msgspec
import pytest
import yaml

from core.profiles.container_profiles import CATALOGUE, ContainerProfile, ProfileSet, parse_profile
from core.profiles.defaults import Defaults, DefaultSeccompProfile, NamespaceId
from core.profiles.privileges import PatternSet, validate_pattern
from kube.cluster.folder import read_profiles
from policies import SHIPPED_PROFILES
from tests.unit.policies.profiles import changes
from tests.unit.policies.profiles.pages import PAGES, RECOMMENDED, codes, read_page

PROFILES = {profile.name: profile for profile in read_profiles([SHIPPED_PROFILES])}
TOPICS = {"index", "gpu-devices"}
"""Pages that are about no one profile."""
INCLUDED_ONLY = {"csi-drivers", "entering", "registries"}
SUBJECTS = {"notebook": 2}
"""How many accounts a page's example names, where it is more than one."""
WORKLOADS = {"baseline", "gpu-inference", "gpu-training", "isolated", "notebook", "restricted"}


def own(name: str) -> list[str]:
    """Return the patterns that a profile itself lists, its relaxations' too."""
    spec = PROFILES[name].spec
    return [*spec.privileges, *(p for each in spec.relaxations for p in each.privileges)]


def test_every_recommended_profile_has_a_page_and_every_page_a_profile() -> None:
    """None is shipped unargued, and none is argued that is gone."""
    assert len(RECOMMENDED) >= 13
    assert {path.stem for path in PAGES.glob("*.md")} == set(RECOMMENDED) | TOPICS


@pytest.mark.parametrize("name", RECOMMENDED)
def test_shipped_file_is_one_profile_of_its_name(name: str) -> None:
    """Each parses as the cluster would take it, and speaks the newest catalogue."""
    manifest = yaml.safe_load((SHIPPED_PROFILES / f"{name}.yaml").read_text())
    parsed = parse_profile(msgspec.json.encode(manifest))
    assert isinstance(parsed, ContainerProfile)
    assert parsed.name == name
    assert parsed.spec.catalogue == CATALOGUE
    assert parsed.spec.description.endswith(".")


def test_all_that_is_included_is_shipped(shipped: ProfileSet) -> None:
    """The set has no problems: no include leads nowhere."""
    assert shipped.problems == ()


def test_least_comes_first() -> None:
    """By rank: what gives least, each level of Pod Security behind what gives no more than it."""
    order = sorted(PROFILES, key=lambda name: (PROFILES[name].spec.rank, name))
    assert order == [
        "isolated",
        "restricted",
        "pss-restricted",
        "gpu-inference",
        "gpu-training",
        "notebook",
        "baseline",
        "pss-baseline",
        "gpu-health",
        "log-agent",
        "storage-provisioner",
        "node-agent",
        "rights-manager",
        "pss-privileged",
        "csi-drivers",
        "entering",
        "registries",
    ]


@pytest.mark.parametrize("name", RECOMMENDED)
def test_workloads_without_a_gpu_are_told_so(name: str) -> None:
    """Profiles for workloads carry the defaults themselves; those of nodes and storage none."""
    defaults = PROFILES[name].spec.defaults
    if name in WORKLOADS:
        assert defaults is not None
        assert [(each.name, each.value, each.without_resources) for each in defaults.env] == [
            ("NVIDIA_VISIBLE_DEVICES", "void", ["nvidia.com/*"]),
            ("AMD_VISIBLE_DEVICES", "void", ["amd.com/*"]),
        ]
    else:
        assert defaults is None


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_shipped_defaults_fill_in_what_images_start_with(name: str) -> None:
    """Baseline alone lets seccomp be absent; what else may be absent in it, images start with.

    IDs are an operator's word, and never fsGroup, to which the kubelet would give a whole share.
    """
    defaults = PROFILES[name].spec.defaults
    assert defaults is not None
    seccomp = DefaultSeccompProfile("RuntimeDefault") if name == "baseline" else None
    ids: list[NamespaceId] = ["runAsUser", "runAsGroup", "supplementalGroups"]
    expected = Defaults(seccomp_profile=seccomp, namespace_ids=[*ids, "supplementalGroupsPolicy"])
    assert msgspec.structs.replace(defaults, env=[]) == expected


def test_ranks_differ() -> None:
    """Which of two covering profiles is taken is decided by what they are for, not by name."""
    ranks = [PROFILES[name].spec.rank for name in RECOMMENDED if name not in INCLUDED_ONLY]
    assert len(set(ranks)) == len(ranks)


@pytest.mark.parametrize("name", RECOMMENDED)
def test_no_pattern_is_wider_than_a_list_would_be(name: str) -> None:
    """Wildcards stand for what no list can name: registries, commands, a driver's folder."""
    wide = {pattern for pattern in own(name) if "*" in pattern}
    allowed = {
        "entering": {"attach/*", "debug/**", "exec/**", "proxy/pod/*"},
        "node-agent": {"host/port/*", "volume/hostPath:rw/var/lib/kubelet/plugins/*"},
        "registries": {"image/from/**"},
        "rights-manager": {
            "identity/**",
            "rights/aggregate/*",
            "rights/apis/*/*",
            "rights/certificates/*/*",
            "rights/impersonate/serviceaccounts/*",
            "rights/secrets/*",
            "rights/token/*",
            "rights/webhooks/*/*",
            "rights/workloads/*",
        },
        "storage-provisioner": {"volume/csi/*", "volume/mount-option/*", "volume/secret/*"},
    }
    assert wide == allowed.get(name, set())


@pytest.mark.parametrize("name", RECOMMENDED)
def test_each_line_is_argued_and_nothing_else(name: str) -> None:
    """The page gives a reason for each privilege that the profile lists, and for no other."""
    argued = read_page(name).argued
    for pattern in argued:
        validate_pattern(pattern, field=name)
    reasons = PatternSet(argued)
    assert [line for line in own(name) if not reasons.covers(line)] == []
    stale = [each for each in argued if not any(PatternSet([each]).covers(p) for p in own(name))]
    assert stale == []


@pytest.mark.parametrize("name", RECOMMENDED)
def test_page_links_what_the_profile_includes(name: str) -> None:
    """What an included profile covers is argued on its own page, one link away."""
    text = (PAGES / f"{name}.md").read_text()
    for included in PROFILES[name].spec.includes:
        assert f"[{included}]({included}.md)" in text or f"[`{included}`]({included}.md)" in text


@pytest.mark.parametrize("name", RECOMMENDED)
def test_what_is_said_to_be_refused_is_refused(name: str, shipped: ProfileSet) -> None:
    """No pattern of the profile lies in one that the page calls refused, save a stated rest."""
    rows = (PAGES / f"{name}.md").read_text().split("## What it still refuses")[1]
    excepted = {code for line in rows.splitlines() if "` but" in line for code in codes(line)}
    refused = read_page(name).refused
    assert len(refused) >= 5
    for pattern in refused:
        validate_pattern(pattern, field=name)
        concrete = pattern.replace("**", "*").replace("*", "anything")
        assert not shipped.by_name[name].covers(concrete)
        if pattern not in excepted:
            inside = PatternSet([pattern])
            assert [each for each in shipped.by_name[name].patterns if inside.covers(each)] == []


@pytest.mark.parametrize("name", sorted(set(RECOMMENDED) - INCLUDED_ONLY))
def test_rbac_snippet_grants_that_profile_and_no_more(name: str) -> None:
    """A role of one rule: `use` on the one profile; and a binding of that role."""
    role, binding = read_page(name).grants
    assert role["rules"] == [
        {
            "apiGroups": ["sallyport.dev"],
            "resources": ["containerprofiles"],
            "resourceNames": [name],
            "verbs": ["use"],
        }
    ]
    assert binding["kind"] == role["kind"] + "Binding"
    assert binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": role["kind"],
        "name": role["metadata"]["name"],
    }
    assert len(binding["subjects"]) == SUBJECTS.get(name, 1)


def test_index_lists_every_profile_with_its_rank_and_includes() -> None:
    """The table is what a reader chooses by."""
    found = {
        row[0]: (int(row[1]), [each for each in row[2].split(", ") if each])
        for row in re.findall(
            r"^\| \[([a-z-]+)\]\(\1\.md\) \| (\d+) \| [^|]+ \| ?([a-z, -]*?) ?\|$",
            (PAGES / "index.md").read_text(),
            re.MULTILINE,
        )
    }
    assert found == {
        name: (PROFILES[name].spec.rank, sorted(PROFILES[name].spec.includes))
        for name in RECOMMENDED
    }


def test_index_explains_every_change() -> None:
    """A change that a page names is one that the index spells out."""
    table = (PAGES / "index.md").read_text().split("| Change |")[1]
    named = {code.partition(" `")[0] for line in table.splitlines()[2:] for code in codes(line)[:1]}
    assert named == changes.NAMES


def test_links_between_pages_lead_somewhere() -> None:
    """Relative links to files that are there."""
    for page in PAGES.glob("*.md"):
        for target in re.findall(r"\]\((?!https://)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).resolve().exists(), (page.name, target)
