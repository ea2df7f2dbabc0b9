# One process of Sallyport as an application of Entra ID. It has no secret and no certificate: Entra
# trusts the tokens of one service account in each cluster, and of nobody else.

locals {
  graph_client_id = "00000003-0000-0000-c000-000000000000" # Microsoft Graph, the same in every tenant.
  asks_graph      = length(var.graph_permissions) > 0
}

data "azuread_service_principal" "graph" {
  count = local.asks_graph ? 1 : 0

  client_id = local.graph_client_id
}

resource "azuread_application" "this" {
  display_name                   = var.display_name
  description                    = "Sallyport's ${var.service_account}. It signs in by federated tokens of its clusters only."
  sign_in_audience               = "AzureADMyOrg"
  fallback_public_client_enabled = false
  prevent_duplicate_names        = true
  owners                         = length(var.owners) > 0 ? var.owners : null

  dynamic "required_resource_access" {
    for_each = local.asks_graph ? [local.graph_client_id] : []

    content {
      resource_app_id = required_resource_access.value

      dynamic "resource_access" {
        for_each = var.graph_permissions

        content {
          id   = data.azuread_service_principal.graph[0].app_role_ids[resource_access.value]
          type = "Role"
        }
      }
    }
  }
}

resource "azuread_service_principal" "this" {
  client_id = azuread_application.this.client_id
  # Nobody else is given a token for it.
  app_role_assignment_required = true
  owners                       = length(var.owners) > 0 ? var.owners : null
}

resource "azuread_application_federated_identity_credential" "this" {
  for_each = var.clusters

  application_id = azuread_application.this.id
  display_name   = "sallyport-${each.key}"
  description    = "${var.service_account} of the cluster ${each.key}"
  issuer         = each.value.issuer
  subject        = "system:serviceaccount:${each.value.namespace}:${var.service_account}"
  audiences      = [var.audience]
}

# Consent of the tenant's admin, one permission at a time; without it they are asked for and not given.
resource "azuread_app_role_assignment" "graph" {
  for_each = var.grant_admin_consent ? var.graph_permissions : []

  app_role_id         = data.azuread_service_principal.graph[0].app_role_ids[each.key]
  principal_object_id = azuread_service_principal.this.object_id
  resource_object_id  = data.azuread_service_principal.graph[0].object_id
}
