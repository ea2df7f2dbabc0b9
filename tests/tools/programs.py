"""The programs that Sallyport is tested or built with: where from, and which versions will do."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.tools.program import Patch, Program

_KUBERNETES_LINKER_FLAGS = " ".join(
    ["-s -w"]
    + [
        f"-X k8s.io/component-base/version.{name}={{{name}}}"
        for name in ("gitVersion", "gitMajor", "gitMinor")
    ],
)

_CERT_MANAGER: Final = "github.com/cert-manager/cert-manager"
_CILIUM: Final = "github.com/cilium/cilium"
_HCL: Final = "github.com/hashicorp/hcl/v2"
_JOBSET: Final = "sigs.k8s.io/jobset"
_KUBECONFORM: Final = "github.com/yannh/kubeconform"
_KUBERNETES: Final = "k8s.io/kubernetes/cmd"
_RAY: Final = "github.com/ray-project/kuberay/ray-operator"
_WITNESS: Final = "github.com/transparency-dev/witness"
_REGAL: Final = "github.com/styrainc/regal"  # Later ones, open-policy-agent's, cannot be had.
_CONTAINERD: Final = "github.com/containerd/containerd/v2"


def _kubernetes(name: str, minutes: int, folder: str = "kubernetes") -> Program:
    """Return a program of a node that runs Kubernetes."""
    return Program(
        name=name,
        module="k8s.io/kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        environment="SALLYPORT_NODE_PROGRAMS",
        environment_is_folder=True,
        version_arguments=("--version",),
        # One with their kube-apiserver.
        oldest=(1, 37),
        newest=(1, 37),
        linker_flags=_KUBERNETES_LINKER_FLAGS,
        minutes=minutes,
        folder=folder,
    )


def _containerd(name: str, minutes: int) -> Program:
    """Return a program of containerd, all of one version."""
    return Program(
        name=name,
        module=_CONTAINERD,
        package=f"{_CONTAINERD}/cmd/{name}",
        environment="SALLYPORT_NODE_PROGRAMS",
        environment_is_folder=True,
        version_arguments=("-v",),
        # kubelet 1.37 wants containerd 2.
        oldest=(2, 2),
        newest=(2, 2),
        linker_flags="-s -w",
        minutes=minutes,
        folder="containerd",
        build_flags=("-tags=no_btrfs,no_devmapper,no_zfs,no_aufs",),
        static=True,
    )


def _gvisor(name: str, package: str, minutes: int, patch: Patch | None = None) -> Program:
    """Return a program of gVisor; both are of one commit, and neither says a version."""
    return Program(
        name=name,
        module="gvisor.dev/gvisor",
        package=f"gvisor.dev/gvisor/{package}",
        environment="",
        environment_is_folder=False,
        version_arguments=(),
        oldest=(0, 0),
        newest=None,
        linker_flags="-s -w",
        minutes=minutes,
        folder="gvisor",
        static=True,
        without_resource_capability=patch,
    )


def _always_built(
    name: str, module: str, package: str, version: tuple[int, int], minutes: int
) -> Program:
    """Return a program that does not say its version: exactly that of its module."""
    return Program(
        name=name,
        module=module,
        package=package,
        environment="",
        environment_is_folder=False,
        version_arguments=(),
        oldest=version,
        newest=version,
        linker_flags="-s -w",
        minutes=minutes,
    )


_SHIM_SCORE: Final = Patch("pkg/shim/v1/manager.go", "oomScoreMax = -999", "oomScoreMax = 0")
"""gVisor's shim lowers its own OOM score, for which Linux wants CAP_SYS_RESOURCE, or it ends."""

_IPSET: Final = "pkg/utils/ipset.go"
_KUBE_ROUTER_IPV6: Final = (
    # Rules name the sets of IPv6 without the prefix that they get here: issue 1653 of
    # github.com/cloudnativelabs/kube-router.
    Patch(_IPSET, "if ipset.isIpv6 && !strings.HasPrefix(", "if false && !strings.HasPrefix("),
    # Who keeps the sets of one family also writes those of the other, as they were: issue 1665.
    Patch(
        _IPSET,
        'if content[0] == "create" {',
        'if content[0] == "create" && ipset.isIpv6 == strings.Contains(line, " inet6 ") {',
    ),
    Patch(
        _IPSET,
        "set := sets[content[1]]",
        "set := sets[content[1]]; if set == nil { continue }",
    ),
)
"""kube-router 2.1.0 enforces nothing in IPv6 without; 2.1.1 mended both, and cannot be had here."""

PROGRAMS: Final[Mapping[str, Program]] = MappingProxyType(
    {
        program.name: program
        for program in (
            Program(
                name="opa",
                module="github.com/open-policy-agent/opa",
                package="github.com/open-policy-agent/opa",
                environment="SALLYPORT_OPA",
                environment_is_folder=False,
                version_arguments=("version",),
                # The policies are Rego v1, which is OPA's default from 1.0 on.
                oldest=(1, 0),
                newest=None,
                linker_flags="-s -w",
                minutes=2,
            ),
            Program(
                name="etcd",
                module="go.etcd.io/etcd/server/v3",
                package="go.etcd.io/etcd/server/v3",
                environment="KUBEBUILDER_ASSETS",
                environment_is_folder=True,
                version_arguments=("--version",),
                # Debian's 3.4.23 was seen to serve kube-apiserver 1.36.
                oldest=(3, 4),
                newest=None,
                linker_flags="-s -w",
                minutes=1,
            ),
            Program(
                name="kube-apiserver",
                module="k8s.io/kubernetes",
                package="k8s.io/kubernetes/cmd/kube-apiserver",
                environment="KUBEBUILDER_ASSETS",
                environment_is_folder=True,
                version_arguments=("--version",),
                # One minor only: what "latest" means in Pod Security changes with each.
                oldest=(1, 37),
                newest=(1, 37),
                linker_flags=_KUBERNETES_LINKER_FLAGS,
                minutes=3,
            ),
            Program(
                name="kube-controller-manager",
                module="k8s.io/kubernetes",
                package="k8s.io/kubernetes/cmd/kube-controller-manager",
                environment="SALLYPORT_KUBE_CONTROLLER_MANAGER",
                environment_is_folder=False,
                version_arguments=("--version",),
                # One with its kube-apiserver; envtest's KUBEBUILDER_ASSETS do not hold it.
                oldest=(1, 37),
                newest=(1, 37),
                linker_flags=_KUBERNETES_LINKER_FLAGS,
                minutes=3,
            ),
            Program(
                name="pod-security-webhook",
                module="k8s.io/pod-security-admission",
                package="k8s.io/pod-security-admission/cmd/webhook",
                environment="SALLYPORT_POD_SECURITY_WEBHOOK",
                environment_is_folder=False,
                version_arguments=("--version",),
                # Kubernetes 1.37's own check, for the bench; libraries count from 0.
                oldest=(0, 37),
                newest=(0, 37),
                linker_flags=_KUBERNETES_LINKER_FLAGS,
                minutes=1,
                is_tested_with=False,
            ),
            Program(
                name="helm",
                module="helm.sh/helm/v4",
                package="helm.sh/helm/v4/cmd/helm",
                environment="SALLYPORT_HELM",
                environment_is_folder=False,
                version_arguments=("version", "--short"),
                # The chart is to install with Helm 3 too; what its tests ask of `helm` is 4's.
                oldest=(4, 0),
                newest=None,
                linker_flags="-s -w -X helm.sh/helm/v4/internal/version.version={gitVersion}",
                minutes=3,
            ),
            # The manifests of these two are taken from the modules of the same versions.
            _always_built("jobset", _JOBSET, _JOBSET, (0, 10), 4),
            _always_built("ray-operator", _RAY, _RAY, (1, 5), 3),
            Program(
                name="kube-router",
                module="github.com/cloudnativelabs/kube-router/v2",
                package="github.com/cloudnativelabs/kube-router/v2/cmd/kube-router",
                # It says a version only where its own Makefile built it.
                environment="",
                environment_is_folder=False,
                version_arguments=(),
                # What it does not enforce is written down for this version.
                oldest=(2, 1),
                newest=(2, 1),
                linker_flags="-s -w",
                minutes=3,
                static=True,
                patches=_KUBE_ROUTER_IPV6,
            ),
            Program(
                name="promtool",
                module="github.com/prometheus/prometheus",
                package="github.com/prometheus/prometheus/cmd/promtool",
                environment="",
                environment_is_folder=False,
                version_arguments=(),
                # The newest whose requirements can all be had.
                oldest=(0, 310),
                newest=None,
                linker_flags="-s -w",
                minutes=5,
                # Without the clouds in which Prometheus finds its targets.
                build_flags=("-tags=remove_all_sd",),
            ),
            _always_built(
                "kubeconform", _KUBECONFORM, f"{_KUBECONFORM}/cmd/kubeconform", (0, 8), 1
            ),
            # Of its own main.go; that reads deploy/terraform for the tests.
            _always_built("hcl-blocks", _HCL, "sallyport.dev/tests/tools/hcl-blocks", (2, 24), 1),
            # Of its own main.go: others' readers of checkpoints, and others' witness.
            _always_built(
                "checkpoints", _WITNESS, "sallyport.dev/tests/tools/checkpoints", (0, 0), 1
            ),
            # Of its own main.go: connections judged by the agent's policy library.
            _always_built(
                "cilium-policy", _CILIUM, "sallyport.dev/tests/tools/cilium-policy", (1, 20), 4
            ),
            _always_built("kubectl", "k8s.io/kubernetes", f"{_KUBERNETES}/kubectl", (1, 37), 4),
            _always_built("regal", _REGAL, _REGAL, (0, 35), 2),
            # Of the packages of its commands, which its module does not hold: cert-manager/main.go.
            _always_built(
                "cert-manager", _CERT_MANAGER, "sallyport.dev/tests/tools/cert-manager", (1, 21), 4
            ),
            Program(
                name="tofu",
                module="github.com/opentofu/opentofu",
                package="github.com/opentofu/opentofu/cmd/tofu",
                environment="SALLYPORT_TOFU",
                environment_is_folder=False,
                version_arguments=("version",),
                # What deploy/terraform needs of it; Terraform will do as well.
                oldest=(1, 9),
                newest=None,
                linker_flags="-s -w",
                minutes=3,
                is_tested_with=False,
            ),
            Program(
                name="kube-apiserver-1.34",
                module="k8s.io/kubernetes",
                package="k8s.io/kubernetes/cmd/kube-apiserver",
                # An older minor, for what must hold on both; built for the proof alone.
                environment="",
                environment_is_folder=False,
                version_arguments=(),
                oldest=(1, 34),
                newest=(1, 34),
                linker_flags=_KUBERNETES_LINKER_FLAGS,
                minutes=3,
                folder="kube-apiserver-134",
                is_tested_with=False,
            ),
            _kubernetes("kubelet", 4),
            _kubernetes("kube-scheduler", 1),
            _kubernetes("kube-proxy", 1, "kube-proxy"),
            Program(
                name="coredns",
                module="github.com/coredns/coredns",
                # With the plugins of `coredns/main.go` alone: the clouds' take minutes more.
                package="sallyport.dev/tests/tools/coredns",
                environment="",
                environment_is_folder=False,
                version_arguments=(),
                oldest=(1, 15),
                newest=None,
                linker_flags="-s -w",
                minutes=3,
                static=True,
            ),
            _containerd("containerd", 4),
            _containerd("containerd-shim-runc-v2", 1),
            _containerd("ctr", 1),
            _gvisor("runsc", "runsc", 2),
            _gvisor("containerd-shim-runsc-v1", "shim", 1, _SHIM_SCORE),
        )
    },
)
