"""Attribution: the Pod that made an access, and the grant that covers it."""
