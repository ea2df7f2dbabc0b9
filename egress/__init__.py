"""Where a workload may connect: what allowlists mean, as the policies of a cluster's engine."""
