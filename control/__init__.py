"""The loops that look after a cluster; one leader runs them."""
