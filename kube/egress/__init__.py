"""What egress depends on in a cluster: allowlists, network policies, Services and Pods."""
