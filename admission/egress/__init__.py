"""Requests that touch egress: allowlists, the labels of Pods and users' NetworkPolicies."""
