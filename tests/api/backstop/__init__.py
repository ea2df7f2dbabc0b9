"""Tests of the back-stop in a real kube-apiserver."""
