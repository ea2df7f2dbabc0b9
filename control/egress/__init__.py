"""Keeps the policies of enrolled namespaces as their EgressAllowlists say."""
