"""The process whose leader looks after the cluster."""
