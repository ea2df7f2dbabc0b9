output "server" {
  description = "Kafka address of the event hubs; null without any."
  value       = local.has_hub ? "${azurerm_eventhub_namespace.this[0].name}.${local.servicebus_suffix}:9093" : null
}

output "weight_hubs" {
  description = "Event hubs with logs of weights: weights.eventHub.topics."
  value       = sort(tolist(local.weight_hubs))
}

output "risk_hubs" {
  description = "Event hubs with Entra ID's risk: identity.eventHub.topics."
  value       = [for name in ["risk"] : name if var.entra_risk]
}

output "site" {
  description = "Address of the account with logs: weights.container.site; null where they go to event hubs."
  value       = local.to_container ? trimsuffix(azurerm_storage_account.this[0].primary_blob_endpoint, "/") : null
}

output "containers" {
  description = "Containers with logs: weights.container.containers."
  value       = sort(tolist(local.containers))
}
