"""What network clients and servers of several rooms share.

Pools of connections, ASGI, Event Hubs, texts of errors, and metric families.
"""
