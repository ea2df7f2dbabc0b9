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

    sallyport review -o sarif deploy/ > sallyport.sarif

    sallyport review --diff git:origin/main -o github deploy/

With --diff OLD only what is new counts: 1 where something new is refused.

**Exit codes**: 0 all admitted; 1 something refused; 2 something could not be
judged, or the cluster does not answer; 64 wrong usage, or nothing to review."""

EXPLAIN = """**Examples**

    sallyport explain 01a1fe42-0ac4-7b5f-946c-9f0144aa65d3

    sallyport explain job.yaml --as alice --cluster examples/cluster

    sallyport explain 01a1fe42 --as bob --kubeconfig ~/.kube/config

    SALLYPORT_LEDGER__URL=postgresql+psycopg://… sallyport explain 01a1fe42

The first eight digits of an id are enough where no other begins so.

**Exit codes**: 0 it was admitted; 1 it was refused; 2 it could not be judged,
or the ledger or cluster does not answer; 64 wrong usage, or nothing to
explain."""

DECISIONS = """**Examples**

    sallyport decisions --verdict deny --since 2h

    sallyport decisions -n train --user alice

    sallyport decisions --rule privileges/host/network -o json

    sallyport decisions --follow --verdict deny --verdict error

Without --ledger it is that of the setting ledger.url, else what `run` keeps.
A user name is looked for as its pseudonym too. `explain ID` says more of one.

**Exit codes**: 0 listed, also where none matches; 2 there is no ledger, or it
does not answer; 64 wrong usage; 130 ended with Ctrl-C."""

APPROVE = """**Examples**

    sallyport approve policyexception llama -n ml --kubeconfig ~/.kube/config

    sallyport approve pex llama -n ml --kubeconfig ~/.kube/config --show

    sallyport approve pex llama -n ml --kubeconfig ~/.kube/config --yes -o json

    sallyport approve eal packages -n research --kubeconfig ~/.kube/config

    sallyport approve eds model-registry --kubeconfig ~/.kube/config

    sallyport approve breakglass fabric-down --kubeconfig ~/.kube/config

    sallyport approve profile gpu.yaml --kubeconfig ~/.kube/config

    sallyport approve grant llama -n research --kubeconfig ~/.kube/config

    sallyport approve store llama.yaml --kubeconfig ~/.kube/config

    sallyport approve store-removal llama --kubeconfig ~/.kube/config

Short names: `pex` (PolicyException), `eal` (EgressAllowlist), `eds` (EgressDestinations), `agr`
or `grant` (AccessGrant). Of `profile` and `store` (WeightStore) NAME is a file: what it will be is
approved before it is applied.

It ends with what is approved, or after --days (a profile's or a store's after 7). What changed
since it was shown is not approved. `kubectl delete approval NAME`, or `clusterapproval NAME` of an
EgressDestinations, a BreakGlass, a profile or a store, takes an approval back.

**Exit codes**: 0 approved, or shown; 1 refused, or you said no; 2 the cluster
does not answer; 64 wrong usage, or no such object."""

GATE = """**Examples**

    sallyport gate --cert tls.crt --key tls.key

    sallyport gate --kubeconfig ~/.kube/config --cert tls.crt --key tls.key

    SALLYPORT_LISTEN__PORT=8443 sallyport gate --config gate.yaml

**Exit codes**: 0 stopped in order; 1 requests were cut off; 2 could not
start; 64 wrong usage."""

CONTROL = """**Examples**

    sallyport control --config control.yaml

    sallyport control --kubeconfig ~/.kube/config

Without --kubeconfig it is the cluster that it runs in. Several may run: one
leads, by the Lease sallyport-control, and another takes over within 20 s.

**Exit codes**: 0 stopped in order; 2 could not start; 64 wrong usage."""

AUDITOR = """**Examples**

    sallyport auditor --config auditor.yaml

    sallyport auditor --config auditor.yaml --ledger sqlite:///ledger.db

The URL of a PostgreSQL, with its password, belongs in SALLYPORT_LEDGER__URL.
The settings `receive.cert`, `receive.key` and `receive.client_ca` are needed.

**Exit codes**: 0 stopped in order; 1 requests were cut off; 2 could not
start; 64 wrong usage."""

RUN = """**Examples**

    sallyport run

    sallyport run --cluster my-cluster/ --quiet

The certificate, its key, the log and the ledger of decisions lie in
$XDG_STATE_HOME/sallyport/run (~/.local/state/sallyport/run).

**Exit codes**: 0 stopped in order; 1 requests were cut off; 2 could not
start; 64 wrong usage."""

PROFILE = """**Examples**

    sallyport profile suggest train --kubeconfig ~/.kube/config

    sallyport profile diff restricted pss-restricted

    sallyport profile check restricted train --kubeconfig ~/.kube/config

**Exit codes**: 0 covered, or the same; 1 something is refused, or differs;
2 something could not be judged; 64 wrong usage."""

SUGGEST = """**Examples**

    sallyport profile suggest deployment.yaml > profile.yaml

    sallyport profile suggest train --kubeconfig ~/.kube/config --name train

    sallyport profile suggest logging --cluster my-cluster/ --generalise

Of a cluster it reads the Pods that run. What has a / or ends in .yaml is a
file. Advice goes to standard error: profiles that are there and do as well.

**Exit codes**: 0 it covers all; 1 something no profile can cover; 2 something
could not be judged, or the cluster does not answer; 64 wrong usage, or
nothing found."""

DIFF = """**Examples**

    sallyport profile diff pss-baseline pss-restricted

    sallyport profile diff train new/train.yaml --kubeconfig ~/.kube/config

What counts is what is covered, not how it is written. A file's relaxations
all count; what it includes is looked for in the cluster.

**Exit codes**: 0 both cover the same; 1 they differ; 2 the cluster does not
answer; 64 wrong usage, or no such profile."""

CHECK = """**Examples**

    sallyport profile check restricted train --kubeconfig ~/.kube/config

    sallyport profile check restricted train --cluster my-cluster/

    sallyport profile check pss-baseline manifests/ -o json

It is judged as where the namespace enforces, whoever asks. Its ceiling does
not count, nor the profile that it names.

**Exit codes**: 0 all would be admitted; 1 something would be refused; 2
something could not be judged, or the cluster does not answer; 64 wrong
usage, no such profile, or nothing to judge."""

WHO_CAN = """**Examples**

    sallyport who-can use gpu-training --kubeconfig ~/.kube/config

    sallyport who-can use gpu-training -n train --cluster my-cluster/

**Exit codes**: 0 listed; 2 the cluster does not answer; 64 wrong usage."""

USE = """**Examples**

    sallyport who-can use gpu-training --kubeconfig ~/.kube/config

    sallyport who-can use gpu-training -n train --cluster my-cluster/

    sallyport who-can use gpu-training --cluster my-cluster/ -o json

Needs the right to list roles and bindings in all namespaces. Through others:
impersonation, tokens, Pods of service accounts, bind, escalate.

**Exit codes**: 0 listed; 2 the cluster does not answer, or does not let all
be read; 64 wrong usage, or no such profile."""

SANDBOX = """**Examples**

    sallyport sandbox report

    sallyport sandbox report --help

**Exit codes**: 0 all that should run in a sandbox does; 1 something does not;
2 the ledger does not answer; 64 wrong usage."""

REPORT = """**Examples**

    sallyport sandbox report

    sallyport sandbox report -n train

    sallyport sandbox report -o json --ledger sqlite:///ledger.db

What runs is not moved: it says what to create anew. Without --ledger it is
that of the setting ledger.url, else what `run` keeps. Who asked is known of
Pods that the gate has admitted.

**Exit codes**: 0 all that should run in a sandbox does; 1 something does not;
2 no sweep has ended yet, there is no ledger, or it does not answer; 64 wrong
usage."""
