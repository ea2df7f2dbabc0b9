"""The second half of each command's --help: examples of under 77 columns, and exit codes."""

ROOT = """**Examples**

    sallyport run

    sallyport review examples/pods/first-denial.yaml

    sallyport review --help

**Exit codes**: 0 all is well; 1 something refused; 2 something could not be
judged or begun; 64 wrong usage. Each command's --help says more."""

REVIEW = """**Examples**

    sallyport review job.yaml

    sallyport review --profile pss-baseline pods/

    sallyport review --cluster examples/cluster --as alice job.yaml

    sallyport review --as alice --as-group researchers job.yaml

    kubectl get pods -A -o yaml | sallyport review -o json -

**Exit codes**: 0 all admitted; 1 something refused; 2 something could not be
judged, or the cluster does not answer; 64 wrong usage, or nothing to review."""

GATE = """**Examples**

    sallyport gate --cert tls.crt --key tls.key

    sallyport gate --kubeconfig ~/.kube/config --cert tls.crt --key tls.key

    SALLYPORT_LISTEN__PORT=8443 sallyport gate --config gate.yaml

**Exit codes**: 0 stopped in order; 1 requests were cut off; 2 could not
start; 64 wrong usage."""

RUN = """**Examples**

    sallyport run

    sallyport run --cluster my-cluster/ --quiet

The certificate, its key and the log of decisions lie in
$XDG_STATE_HOME/sallyport/run (~/.local/state/sallyport/run).

**Exit codes**: 0 stopped in order; 1 requests were cut off; 2 could not
start; 64 wrong usage."""

POLICY = """**Examples**

    sallyport policy build

    sallyport policy build --help

**Exit codes**: 0 done; 2 the policies were refused; 64 wrong usage."""

BUILD = """**Examples**

    sallyport policy build

    sallyport policy build --opa ./opa --output builtin.tar.gz

**Exit codes**: 0 built; 2 the policies were refused; 64 wrong usage."""
