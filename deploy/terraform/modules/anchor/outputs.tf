output "url" {
  description = "Address of the container: auditor.ledger.anchors.blob, with a prefix of the cluster's own behind it."
  value       = "${azurerm_storage_account.this.primary_blob_endpoint}${azurerm_storage_container.this.name}"
}
