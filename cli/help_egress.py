"""The second half of `sallyport egress … --help`, as `cli.help` has it of the other commands."""

EGRESS = """**Examples**

    sallyport egress plan intents/ --kubeconfig ~/.kube/config

    sallyport egress explain research/train-0 pypi.org:443 --cluster dir/

**Exit codes**: 0 open, or nothing changes; 1 closed, or something changes;
2 the cluster does not answer; 64 wrong usage."""

RENDER = """**Examples**

    sallyport egress render intents.yaml

    sallyport egress render --cluster examples/egress/cluster -n research

    sallyport egress render intents/ --engine cilium -o json

With files alone each namespace counts as enrolled, unless a Namespace in them
says otherwise. With a cluster, files lie over what it has. What stays closed
is told on standard error, with the field's path.

**Exit codes**: 0 all is rendered; 1 something stays closed that an intent
says; 2 the cluster does not answer; 64 wrong usage, or nothing to render."""

PLAN = """**Examples**

    sallyport egress plan intents/ --kubeconfig ~/.kube/config

    sallyport egress plan intents/ --cluster examples/egress/cluster

    kubectl get eal packages -o yaml | sallyport egress plan --delete -

Files may hold EgressAllowlists, EgressDestinations and Namespaces. What waits
for an approval or a right is shown as such, and counts as a change.

**Exit codes**: 0 nothing opens or closes; 1 something does; 2 the cluster
does not answer; 64 wrong usage, or no intents."""

EXPLAIN = """**Examples**

    sallyport egress explain research/train-0 pypi.org:443 --cluster dir/

    sallyport egress explain -n research train-0 192.0.2.7:53/udp

    sallyport egress explain research/train-0 catalogue.data:80

    sallyport egress explain research/train-0 [2001:db8::7]:443 -o json

    sallyport egress explain research/train-0 pod/data/catalogue-0:8080

**Exit codes**: 0 it is open; 1 it is closed, or open to some of its addresses
alone; 2 the cluster does not answer; 64 wrong usage, or no such Pod."""

SUGGEST = """**Examples**

    hubble observe -o json | sallyport egress suggest - > intents.yaml

    sallyport egress suggest PT1H.json --kubeconfig ~/.kube/config

    sallyport egress suggest examples/egress/flows/flows.csv

    sallyport egress suggest flows.csv -n research --tags ServiceTags.json

The columns of a CSV: namespace, service_account or pod, destination, port,
protocol; and verdict, count, time. Azure's logs know addresses alone: name
the cluster whose Pods they are of. Scans and reserved ranges are left out.

**Exit codes**: 0 done, also where nothing is suggested; 2 nothing could be
read, or the cluster does not answer; 64 wrong usage, or no such file."""

GRAPH = """**Examples**

    sallyport egress graph --out egress.svg --kubeconfig ~/.kube/config

    sallyport egress graph --cluster examples/egress/cluster --out egress.svg

    sallyport egress graph -n research -o json --kubeconfig ~/.kube/config

Dashed is reach that no intent names: through Pods of namespaces that are not
enrolled, Pods on their node's network, and DNS where names are not filtered.

**Exit codes**: 0 drawn; 2 the cluster does not answer; 64 wrong usage, or
nothing to draw."""

VERIFY = """**Examples**

    sallyport egress verify research/train-0 --kubeconfig ~/.kube/config

    sallyport egress verify -n research --kubeconfig ~/.kube/config

    sallyport egress verify research/train-0 --try 198.51.100.9:443

It runs a small program in the Pod (pods/exec), with python3, bash or nc. Tried
are what intents open, and what must be closed: metadata, the wire server, the
kubelet, kube-apiserver, Pods and destinations of others. Of a namespace one
Pod for each service account. Only TCP is tried.

**Exit codes**: 0 all is as intents say; 1 something differs; 2 something could
not be tried, or the cluster does not answer; 64 wrong usage."""

RELEASE = """**Examples**

    sallyport egress release --kubeconfig ~/.kube/config

    sallyport egress release -o json --kubeconfig ~/.kube/config

Takes the finalizer off that `control` puts on allowlists, of all namespaces:
without `control` neither they nor their namespaces could be deleted. Policies
stay as they are. `helm uninstall` does it by itself; run it where that was told
to leave hooks out, or failed. With Sallyport installed the gate refuses it.

**Exit codes**: 0 none is held any more; 1 some still are, with why; 2 the
cluster does not answer; 64 wrong usage."""
