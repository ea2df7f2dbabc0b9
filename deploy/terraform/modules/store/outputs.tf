output "id" {
  description = "Resource id of the account: a WeightStore's spec.resourceId."
  value       = azurerm_storage_account.this.id
}

output "container_ids" {
  description = "Resource ids of the containers, by name."
  value       = { for name, container in azurerm_storage_container.this : name => container.id }
}

output "private_address" {
  description = "Address of the private endpoint: a WeightStore's spec.privateEndpoints, and what an EgressAllowlist opens."
  value       = azurerm_private_endpoint.this.private_service_connection[0].private_ip_address
}
