"""The second half of `sallyport verify --help`, as `cli.help` has it of the other commands."""

VERIFY = """**Examples**

    sallyport verify --kubeconfig ~/.kube/config

    sallyport verify -n research -o json --kubeconfig ~/.kube/config

    helm test sallyport -n sallyport-system --logs

Asks by dry runs: are the webhooks registered, is a workload judged, is a Pod
refused that nobody may run, are the marks of a namespace guarded? Nothing is
written. In a Pod it asks as the Pod's service account. Which mode holds is read
from the ConfigMap sallyport-gate; with --default-mode from the settings alone.

**Exit codes**: 0 all holds; 1 something is broken; 2 the cluster does not
answer, or something else stands between; 64 wrong usage."""
