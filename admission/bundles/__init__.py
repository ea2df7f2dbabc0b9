"""Policy bundles in a running process: in force, watched for, and a candidate in the shadow."""
