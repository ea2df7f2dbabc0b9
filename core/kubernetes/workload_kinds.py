"""The kinds that carry Pods: where their Pod templates lie, and who makes their Pods. Pure.

One table for admission, `sallyport review`, the webhooks' rules and the documentation
(`docs/operate/workloads.md`). The schemas are public; `source` names repository and file.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from core.base import names

GroupKind = tuple[str, str]
"""An API group, empty for the core one, and a kind."""

BUILT_IN_GROUPS: Final = frozenset({"", "apps", "batch"})
CONTROLLER_MANAGER: Final = "system:kube-controller-manager"
"""The user of all of Kubernetes' controllers without --use-service-account-credentials."""


class PlaceContent(enum.Enum):
    """What lies at a path."""

    TEMPLATE = "Pod template"
    SPEC = "Pod spec"
    OBJECT = "whole object of any kind"
    WORKFLOW = "workflow of Argo"
    SPARK = "application of Spark"
    FLINK = "deployment of Flink"
    PREDICTOR = "component of KServe"


@dataclass(frozen=True)
class TemplatePlace:
    """Where templates lie in an object, and as what."""

    path: str
    """From the object's root: `[*]` for each item of a list, `*` for each value of a map."""
    holds: PlaceContent = PlaceContent.TEMPLATE


@dataclass(frozen=True, kw_only=True)
class WorkloadKind:
    """A kind whose objects make Pods, or hold what others make Pods from."""

    group: str
    kind: str
    resource: str
    versions: tuple[str, ...]
    """All that are, or were, served: a webhook's rule names them."""
    places: tuple[TemplatePlace, ...]
    controllers: tuple[str, ...] = ()
    """User names under which its controller usually runs: who makes what such an object owns."""
    source: str
    """Where its schema is published: repository and file."""
    says: tuple[str, ...] = ()
    """Where, besides the templates, it says what its Pods run; paths as those of places."""
    more: str = ""
    """What its Pods have that no template of the object says; empty where there is nothing."""
    namespaced: bool = True

    @property
    def group_kind(self) -> GroupKind:
        """Its API group and kind."""
        return self.group, self.kind

    @property
    def built_in(self) -> bool:
        """Whether it is one of Kubernetes' own, whose templates kube-apiserver validates."""
        return self.group in BUILT_IN_GROUPS


def service_account_user(name: str, namespace: str = "kube-system") -> str:
    """Return the user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


def template_places(*paths: str) -> tuple[TemplatePlace, ...]:
    """Return places where Pod templates lie."""
    return tuple(TemplatePlace(path) for path in paths)


_TRAINING: Final = (service_account_user("training-operator", "kubeflow"),)
_TRAINER: Final = (
    service_account_user("kubeflow-trainer-controller-manager", "kubeflow-system"),
    service_account_user("kubeflow-trainer-controller-manager", "kubeflow"),
)
_RAY: Final = (
    service_account_user("kuberay-operator", "kuberay-operator"),
    service_account_user("kuberay-operator", "ray-system"),
)
_JOBSET: Final = (service_account_user("jobset-controller-manager", "jobset-system"),)
LEADER_WORKER_SETS: Final = (service_account_user("lws-controller-manager", "lws-system"),)
"""Who makes the workers' StatefulSets for the leader's Pod."""
_VOLCANO: Final = (service_account_user("volcano-controllers", "volcano-system"),)
_SPARK: Final = (service_account_user("spark-operator-controller", "spark-operator"),)
_FLINK: Final = (service_account_user("flink-operator", "flink-operator"),)
_ARGO: Final = (
    service_account_user("argo", "argo"),
    service_account_user("argo-workflows-workflow-controller", "argo"),
)
_KNATIVE: Final = (service_account_user("controller", "knative-serving"),)
_SANDBOX: Final = (service_account_user("agent-sandbox-controller", "agent-sandbox-system"),)


def _kubeflow(kind: str, resource: str, replicas: str, versions: tuple[str, ...]) -> WorkloadKind:
    return WorkloadKind(
        group="kubeflow.org",
        kind=kind,
        resource=resource,
        versions=versions,
        places=template_places(f"spec.{replicas}.*.template"),
        controllers=(*_TRAINING, service_account_user("mpi-operator", "mpi-operator"))
        if kind == "MPIJob"
        else _TRAINING,
        source=f"kubeflow/trainer manifests/base/crds/kubeflow.org_{resource}.yaml (release-1.9)",
        more="init containers of the operator, such as init-pytorch",
    )


def _trainer(kind: str, *, namespaced: bool) -> WorkloadKind:
    resource = f"{kind.lower()}s"
    return WorkloadKind(
        group="trainer.kubeflow.org",
        kind=kind,
        resource=resource,
        versions=("v1alpha1",),
        places=template_places("spec.template.spec.replicatedJobs[*].template.spec.template"),
        source=f"kubeflow/trainer manifests/base/crds/trainer.kubeflow.org_{resource}.yaml",
        more="what the TrainJob that refers to it overrides",
        namespaced=namespaced,
    )


def _ray(
    kind: str,
    cluster: str,
    *more: str,
    says: tuple[str, ...] = (),
    versions: tuple[str, ...] = ("v1", "v1alpha1"),
) -> WorkloadKind:
    resource = f"{kind.lower()}s"
    return WorkloadKind(
        group="ray.io",
        kind=kind,
        resource=resource,
        versions=versions,
        places=template_places(
            f"{cluster}.headGroupSpec.template", f"{cluster}.workerGroupSpecs[*].template", *more
        ),
        # The operator puts start parameters into a shell's command. Replicas are the autoscaler's.
        says=(
            f"{cluster}.autoscalerOptions",
            f"{cluster}.headGroupSpec.rayStartParams",
            f"{cluster}.workerGroupSpecs[*].rayStartParams",
            *says,
        ),
        controllers=_RAY,
        source=f"ray-project/kuberay ray-operator/config/crd/bases/ray.io_{resource}.yaml",
        more="the autoscaler, an init container of the ray image, the submitter's default",
    )


def _ray_job(kind: str, path: str, versions: tuple[str, ...]) -> WorkloadKind:
    """Return a kind that has a RayJob's `spec` at a path."""
    return _ray(
        kind,
        f"{path}.rayClusterSpec",
        f"{path}.submitterPodTemplate",
        says=(f"{path}.entrypoint", f"{path}.runtimeEnvYAML", f"{path}.clusterSelector"),
        versions=versions,
    )


def _argo(kind: str, path: str = "spec", *, namespaced: bool = True) -> WorkloadKind:
    resource = f"{kind.lower()}s"
    return WorkloadKind(
        group="argoproj.io",
        kind=kind,
        resource=resource,
        versions=("v1alpha1",),
        places=(TemplatePlace(path, PlaceContent.WORKFLOW),),
        says=tuple(
            f"{path}.{field}"
            for field in (
                "arguments",
                "entrypoint",
                "executor",
                "hooks",
                "onExit",
                "podSpecPatch",
                "templateDefaults",
                "templates",
                "workflowTemplateRef",
            )
        ),
        controllers=_ARGO if kind in {"Workflow", "CronWorkflow"} else (),
        source=f"argoproj/argo-workflows manifests/base/crds/full/argoproj.io_{resource}.yaml",
        more="the containers init and wait, templates referred to, podSpecPatch, the controller's "
        "workflowDefaults, Pods of resource, data, http and plugin templates",
        namespaced=namespaced,
    )


def _spark(kind: str, path: str) -> WorkloadKind:
    resource = f"{kind.lower()}s"
    return WorkloadKind(
        group="sparkoperator.k8s.io",
        kind=kind,
        resource=resource,
        versions=("v1beta2",),
        places=(TemplatePlace(path, PlaceContent.SPARK),),
        says=(path,),
        controllers=_SPARK,
        source=f"kubeflow/spark-operator config/crd/bases/sparkoperator.k8s.io_{resource}.yaml",
        more="what Spark and its sparkConf add; executors are made by the driver's account",
    )


def _knative(kind: str, place: TemplatePlace) -> WorkloadKind:
    return WorkloadKind(
        group="serving.knative.dev",
        kind=kind,
        resource=f"{kind.lower()}s",
        versions=("v1", "v1beta1", "v1alpha1"),
        places=(place,),
        controllers=_KNATIVE,
        source=f"knative/serving config/core/300-resources/{kind.lower()}.yaml",
        more="the container queue-proxy, security defaults of config-features",
    )


def _sandbox(group: str, kind: str, controllers: tuple[str, ...]) -> WorkloadKind:
    resource = "sandboxes" if kind == "Sandbox" else f"{kind.lower()}s"
    return WorkloadKind(
        group=group,
        kind=kind,
        resource=resource,
        versions=("v1beta1", "v1alpha1"),
        places=template_places("spec.podTemplate"),
        controllers=controllers,
        source=f"kubernetes-sigs/agent-sandbox k8s/crds/{group}_{resource}.yaml",
    )


OPERATORS: Final = (
    _kubeflow("PyTorchJob", "pytorchjobs", "pytorchReplicaSpecs", ("v1",)),
    _kubeflow("TFJob", "tfjobs", "tfReplicaSpecs", ("v1",)),
    _kubeflow("MPIJob", "mpijobs", "mpiReplicaSpecs", ("v1", "v2beta1")),
    _kubeflow("XGBoostJob", "xgboostjobs", "xgbReplicaSpecs", ("v1",)),
    _kubeflow("PaddleJob", "paddlejobs", "paddleReplicaSpecs", ("v1",)),
    _kubeflow("JAXJob", "jaxjobs", "jaxReplicaSpecs", ("v1",)),
    WorkloadKind(
        group="trainer.kubeflow.org",
        kind="TrainJob",
        resource="trainjobs",
        versions=("v1alpha1",),
        places=(),
        controllers=_TRAINER,
        source="kubeflow/trainer manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml",
        more="all: its templates are its runtime's, changed by the trainer in a JobSet, which is "
        "judged when it is made",
    ),
    _trainer("TrainingRuntime", namespaced=True),
    _trainer("ClusterTrainingRuntime", namespaced=False),
    _ray("RayCluster", "spec"),
    _ray_job("RayJob", "spec", ("v1", "v1alpha1")),
    _ray_job("RayCronJob", "spec.jobTemplate", ("v1",)),
    _ray("RayService", "spec.rayClusterConfig", says=("spec.serveConfigV2",)),
    WorkloadKind(
        group="jobset.x-k8s.io",
        kind="JobSet",
        resource="jobsets",
        versions=("v1alpha2",),
        places=template_places("spec.replicatedJobs[*].template.spec.template"),
        controllers=_JOBSET,
        source="kubernetes-sigs/jobset config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml",
    ),
    WorkloadKind(
        group="leaderworkerset.x-k8s.io",
        kind="LeaderWorkerSet",
        resource="leaderworkersets",
        versions=("v1",),
        places=template_places(
            "spec.leaderWorkerTemplate.leaderTemplate",
            "spec.leaderWorkerTemplate.workerTemplate",
        ),
        controllers=LEADER_WORKER_SETS,
        source="kubernetes-sigs/lws config/crd/bases/leaderworkerset.x-k8s.io_"
        "leaderworkersets.yaml",
    ),
    WorkloadKind(
        group="batch.volcano.sh",
        kind="Job",
        resource="jobs",
        versions=("v1alpha1",),
        places=template_places("spec.tasks[*].template"),
        controllers=_VOLCANO,
        source="volcano-sh/volcano config/crd/volcano/bases/batch.volcano.sh_jobs.yaml",
        says=("spec.plugins", "spec.volumes"),
        more="volumes and variables of its plugins",
    ),
    WorkloadKind(
        group="workload.codeflare.dev",
        kind="AppWrapper",
        resource="appwrappers",
        versions=("v1beta2",),
        places=(TemplatePlace("spec.components[*].template", PlaceContent.OBJECT),),
        says=("spec.components[*].template",),
        controllers=(service_account_user("appwrapper-controller-manager", "appwrapper-system"),),
        source="project-codeflare/appwrapper config/crd/bases/"
        "workload.codeflare.dev_appwrappers.yaml",
    ),
    WorkloadKind(
        group="flink.apache.org",
        kind="FlinkDeployment",
        resource="flinkdeployments",
        versions=("v1beta1",),
        places=(TemplatePlace("spec", PlaceContent.FLINK),),
        says=(
            "spec.job.jarURI",
            "spec.job.entryClass",
            "spec.job.args",
            "spec.flinkConfiguration",
            "spec.logConfiguration",
        ),
        controllers=_FLINK,
        source="apache/flink-kubernetes-operator helm/flink-kubernetes-operator/crds/"
        "flinkdeployments.flink.apache.org-v1.yml",
        more="what Flink and its flinkConfiguration add to the container flink-main-container",
    ),
    _spark("SparkApplication", "spec"),
    _spark("ScheduledSparkApplication", "spec.template"),
    _argo("Workflow"),
    _argo("WorkflowTemplate"),
    _argo("ClusterWorkflowTemplate", namespaced=False),
    _argo("CronWorkflow", "spec.workflowSpec"),
    _knative("Service", TemplatePlace("spec.template")),
    _knative("Configuration", TemplatePlace("spec.template")),
    _knative("Revision", TemplatePlace("spec", PlaceContent.SPEC)),
    WorkloadKind(
        group="serving.kserve.io",
        kind="InferenceService",
        resource="inferenceservices",
        versions=("v1beta1",),
        places=(
            TemplatePlace("spec.predictor", PlaceContent.PREDICTOR),
            TemplatePlace("spec.transformer", PlaceContent.PREDICTOR),
            TemplatePlace("spec.explainer", PlaceContent.PREDICTOR),
        ),
        controllers=(service_account_user("kserve-controller-manager", "kserve"),),
        source="kserve/kserve config/crd/full/serving.kserve.io_inferenceservices.yaml",
        more="the containers of the ServingRuntime, storage-initializer, agents",
    ),
    WorkloadKind(
        group="kubeflow.org",
        kind="Notebook",
        resource="notebooks",
        versions=("v1", "v1beta1", "v1alpha1"),
        places=template_places("spec.template"),
        controllers=(service_account_user("notebook-controller-service-account", "kubeflow"),),
        source="kubeflow/kubeflow components/notebook-controller/config/crd/bases/"
        "kubeflow.org_notebooks.yaml",
    ),
    _sandbox("agents.x-k8s.io", "Sandbox", _SANDBOX),
    _sandbox("extensions.agents.x-k8s.io", "SandboxTemplate", ()),
)


def _built_in(
    group: str, kind: str, resource: str, path: str, controller: str = ""
) -> WorkloadKind:
    """Return one of Kubernetes' own (k8s.io/api types.go; cmd/kube-controller-manager/app)."""
    return WorkloadKind(
        group=group,
        kind=kind,
        resource=resource,
        versions=("v1",),
        places=template_places(path),
        controllers=(service_account_user(controller), CONTROLLER_MANAGER) if controller else (),
        source=f"kubernetes/api {group or 'core'}/v1/types.go",
    )


_TABLE: Final = (
    _built_in("", "PodTemplate", "podtemplates", "template"),
    _built_in(
        "",
        "ReplicationController",
        "replicationcontrollers",
        "spec.template",
        "replication-controller",
    ),
    _built_in("apps", "ReplicaSet", "replicasets", "spec.template", "replicaset-controller"),
    _built_in("apps", "Deployment", "deployments", "spec.template", "deployment-controller"),
    _built_in("apps", "StatefulSet", "statefulsets", "spec.template", "statefulset-controller"),
    _built_in("apps", "DaemonSet", "daemonsets", "spec.template", "daemon-set-controller"),
    _built_in("batch", "Job", "jobs", "spec.template", "job-controller"),
    _built_in(
        "batch", "CronJob", "cronjobs", "spec.jobTemplate.spec.template", "cronjob-controller"
    ),
    *OPERATORS,
)

WORKLOADS: Final[Mapping[GroupKind, WorkloadKind]] = {each.group_kind: each for each in _TABLE}
"""The table, by API group and kind."""


def workload_of(group: str, kind: str) -> WorkloadKind | None:
    """Return what is known of a kind; None where it is not listed."""
    return WORKLOADS.get((group, kind))


def may_carry(group: str, kind: str) -> bool:
    """Return whether a kind that nobody listed may carry Pods: whatever a CRD may define."""
    return "." in group and group != names.GROUP and (group, kind) not in WORKLOADS


OWNERS: Final[Mapping[str, frozenset[GroupKind]]] = {
    user: frozenset(each.group_kind for each in _TABLE if user in each.controllers)
    # LeaderWorkerSet's controller makes the workers' StatefulSets for the leader's Pod.
    | (frozenset({("", "Pod")}) if user in LEADER_WORKER_SETS else frozenset())
    for user in sorted({user for each in _TABLE for user in each.controllers})
}
"""For the user names of controllers: the kinds whose objects own what they make."""
