output "client_id" {
  description = "Client id of the application."
  value       = azuread_application.this.client_id
}

output "principal_id" {
  description = "Object id of its service principal: to whom roles are assigned."
  value       = azuread_service_principal.this.object_id
}
