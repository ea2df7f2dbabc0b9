"""What `control` records of the cluster, so that an access to weights is attributed later."""
