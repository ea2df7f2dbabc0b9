package site.volumes

remote(types) if {
	some type in types
	type in {"azureFile", "cephfs", "csi", "iscsi", "nfs"}
}
