// Pins the operators whose published CustomResourceDefinitions the tests install: see
// tests/tools/definitions.py. Each module is downloaded alone, without what it depends on, so
// nothing is ever built from this file, and `go mod tidy` would empty it.
module sallyport.dev/tests/tools/crds

go 1.26.0

require (
	github.com/argoproj/argo-workflows/v3 v3.7.3
	github.com/kserve/kserve v0.15.2
	github.com/kubeflow/mpi-operator v0.6.0
	github.com/kubeflow/spark-operator/v2 v2.3.0
	github.com/kubeflow/trainer/v2 v2.1.0
	github.com/kubeflow/training-operator v1.9.2
	github.com/project-codeflare/appwrapper v1.1.2
	github.com/ray-project/kuberay/ray-operator v1.6.0
	knative.dev/serving v0.51.0
	sigs.k8s.io/agent-sandbox v0.1.0
	sigs.k8s.io/jobset v0.10.1
	sigs.k8s.io/lws v0.7.0
)
