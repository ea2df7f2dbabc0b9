// Pins the policy engines whose CustomResourceDefinitions the tests install: see
// tests/harness/published/policy_engines.py. Each module is downloaded alone, so nothing is built from this file.
module sallyport.dev/tests/tools/policy-crds

go 1.26.0

require (
	github.com/cilium/cilium v1.20.2
	sigs.k8s.io/network-policy-api v0.2.0
)
