"""What network clients and servers of several rooms share.

Connections, Event Hubs, texts of errors, and metric families.
"""
