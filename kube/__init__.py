"""The cluster: its client, watches and access reviews, or a folder of YAML in its place."""
