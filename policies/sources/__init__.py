"""Where bundles come from, beside what is published in the cluster (`kube.bundles.watch`)."""
