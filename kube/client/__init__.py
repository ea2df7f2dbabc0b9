"""The connection to kube-apiserver.

Credentials, single objects, lists, exec; and what the network clients of other rooms share with
it.
"""
