"""The kinds of operators that carry Pods: their part of the table of workload kinds.

The schemas are public; `source` names repository and file.
"""

from typing import Final

from core.kubernetes.workload import Holds, Place, Workload, account, templates

_TRAINING: Final = (account("training-operator", "kubeflow"),)
_TRAINER: Final = (
    account("kubeflow-trainer-controller-manager", "kubeflow-system"),
    account("kubeflow-trainer-controller-manager", "kubeflow"),
)
_RAY: Final = (
    account("kuberay-operator", "kuberay-operator"),
    account("kuberay-operator", "ray-system"),
)
_JOBSET: Final = (account("jobset-controller-manager", "jobset-system"),)
LEADER_WORKER_SETS: Final = (account("lws-controller-manager", "lws-system"),)
"""Who makes the workers' StatefulSets for the leader's Pod."""
_VOLCANO: Final = (account("volcano-controllers", "volcano-system"),)
_SPARK: Final = (account("spark-operator-controller", "spark-operator"),)
_FLINK: Final = (account("flink-operator", "flink-operator"),)
_ARGO: Final = (account("argo", "argo"), account("argo-workflows-workflow-controller", "argo"))
_KNATIVE: Final = (account("controller", "knative-serving"),)
_SANDBOX: Final = (account("agent-sandbox-controller", "agent-sandbox-system"),)


def _kubeflow(kind: str, resource: str, replicas: str, versions: tuple[str, ...]) -> Workload:
    return Workload(
        group="kubeflow.org",
        kind=kind,
        resource=resource,
        versions=versions,
        places=templates(f"spec.{replicas}.*.template"),
        controllers=(*_TRAINING, account("mpi-operator", "mpi-operator"))
        if kind == "MPIJob"
        else _TRAINING,
        source=f"kubeflow/trainer manifests/base/crds/kubeflow.org_{resource}.yaml (release-1.9)",
        more="init containers of the operator, such as init-pytorch",
    )


def _trainer(kind: str, *, namespaced: bool) -> Workload:
    resource = f"{kind.lower()}s"
    return Workload(
        group="trainer.kubeflow.org",
        kind=kind,
        resource=resource,
        versions=("v1alpha1",),
        places=templates("spec.template.spec.replicatedJobs[*].template.spec.template"),
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
) -> Workload:
    resource = f"{kind.lower()}s"
    return Workload(
        group="ray.io",
        kind=kind,
        resource=resource,
        versions=versions,
        places=templates(
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


def _ray_job(kind: str, path: str, versions: tuple[str, ...]) -> Workload:
    """Give a kind that has a RayJob's `spec` at a path."""
    return _ray(
        kind,
        f"{path}.rayClusterSpec",
        f"{path}.submitterPodTemplate",
        says=(f"{path}.entrypoint", f"{path}.runtimeEnvYAML", f"{path}.clusterSelector"),
        versions=versions,
    )


def _argo(kind: str, path: str = "spec", *, namespaced: bool = True) -> Workload:
    resource = f"{kind.lower()}s"
    return Workload(
        group="argoproj.io",
        kind=kind,
        resource=resource,
        versions=("v1alpha1",),
        places=(Place(path, Holds.WORKFLOW),),
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


def _spark(kind: str, path: str) -> Workload:
    resource = f"{kind.lower()}s"
    return Workload(
        group="sparkoperator.k8s.io",
        kind=kind,
        resource=resource,
        versions=("v1beta2",),
        places=(Place(path, Holds.SPARK),),
        says=(path,),
        controllers=_SPARK,
        source=f"kubeflow/spark-operator config/crd/bases/sparkoperator.k8s.io_{resource}.yaml",
        more="what Spark and its sparkConf add; executors are made by the driver's account",
    )


def _knative(kind: str, place: Place) -> Workload:
    return Workload(
        group="serving.knative.dev",
        kind=kind,
        resource=f"{kind.lower()}s",
        versions=("v1", "v1beta1", "v1alpha1"),
        places=(place,),
        controllers=_KNATIVE,
        source=f"knative/serving config/core/300-resources/{kind.lower()}.yaml",
        more="the container queue-proxy, security defaults of config-features",
    )


def _sandbox(group: str, kind: str, controllers: tuple[str, ...]) -> Workload:
    resource = "sandboxes" if kind == "Sandbox" else f"{kind.lower()}s"
    return Workload(
        group=group,
        kind=kind,
        resource=resource,
        versions=("v1beta1", "v1alpha1"),
        places=templates("spec.podTemplate"),
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
    Workload(
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
    Workload(
        group="jobset.x-k8s.io",
        kind="JobSet",
        resource="jobsets",
        versions=("v1alpha2",),
        places=templates("spec.replicatedJobs[*].template.spec.template"),
        controllers=_JOBSET,
        source="kubernetes-sigs/jobset config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml",
    ),
    Workload(
        group="leaderworkerset.x-k8s.io",
        kind="LeaderWorkerSet",
        resource="leaderworkersets",
        versions=("v1",),
        places=templates(
            "spec.leaderWorkerTemplate.leaderTemplate",
            "spec.leaderWorkerTemplate.workerTemplate",
        ),
        controllers=LEADER_WORKER_SETS,
        source="kubernetes-sigs/lws config/crd/bases/leaderworkerset.x-k8s.io_"
        "leaderworkersets.yaml",
    ),
    Workload(
        group="batch.volcano.sh",
        kind="Job",
        resource="jobs",
        versions=("v1alpha1",),
        places=templates("spec.tasks[*].template"),
        controllers=_VOLCANO,
        source="volcano-sh/volcano config/crd/volcano/bases/batch.volcano.sh_jobs.yaml",
        says=("spec.plugins", "spec.volumes"),
        more="volumes and variables of its plugins",
    ),
    Workload(
        group="workload.codeflare.dev",
        kind="AppWrapper",
        resource="appwrappers",
        versions=("v1beta2",),
        places=(Place("spec.components[*].template", Holds.OBJECT),),
        says=("spec.components[*].template",),
        controllers=(account("appwrapper-controller-manager", "appwrapper-system"),),
        source="project-codeflare/appwrapper config/crd/bases/"
        "workload.codeflare.dev_appwrappers.yaml",
    ),
    Workload(
        group="flink.apache.org",
        kind="FlinkDeployment",
        resource="flinkdeployments",
        versions=("v1beta1",),
        places=(Place("spec", Holds.FLINK),),
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
    _knative("Service", Place("spec.template")),
    _knative("Configuration", Place("spec.template")),
    _knative("Revision", Place("spec", Holds.SPEC)),
    Workload(
        group="serving.kserve.io",
        kind="InferenceService",
        resource="inferenceservices",
        versions=("v1beta1",),
        places=(
            Place("spec.predictor", Holds.PREDICTOR),
            Place("spec.transformer", Holds.PREDICTOR),
            Place("spec.explainer", Holds.PREDICTOR),
        ),
        controllers=(account("kserve-controller-manager", "kserve"),),
        source="kserve/kserve config/crd/full/serving.kserve.io_inferenceservices.yaml",
        more="the containers of the ServingRuntime, storage-initializer, agents",
    ),
    Workload(
        group="kubeflow.org",
        kind="Notebook",
        resource="notebooks",
        versions=("v1", "v1beta1", "v1alpha1"),
        places=templates("spec.template"),
        controllers=(account("notebook-controller-service-account", "kubeflow"),),
        source="kubeflow/kubeflow components/notebook-controller/config/crd/bases/"
        "kubeflow.org_notebooks.yaml",
    ),
    _sandbox("agents.x-k8s.io", "Sandbox", _SANDBOX),
    _sandbox("extensions.agents.x-k8s.io", "SandboxTemplate", ()),
)
