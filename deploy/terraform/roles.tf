# Roles with nothing in them that Sallyport does not use: Azure's own Reader, and its Role Based
# Access Control Administrator, read everything below their scope.

locals {
  subscription_scope = "/subscriptions/${local.subscription_id}"

  # Storage Blob Data Reader and Contributor: all that control may give
  # (identity/azure_roles/grant_assignments.py).
  given_roles = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1, ba92f5b4-2d11-453d-a403-e96b0029c9fe"

  given_containers = merge([
    for store, containers in local.store_containers : {
      for name in containers : "${store}/${name}" => { store = store, container = name }
    } if var.just_in_time
  ]...)
}

resource "azurerm_role_definition" "store_access" {
  count = local.has_stores ? 1 : 0

  name              = "${var.name} reads who can open a store"
  scope             = local.subscription_scope
  description       = "Sallyport's control: role and deny assignments of an account, the account itself, its diagnostic settings. No blob and no key."
  assignable_scopes = [local.subscription_scope]

  permissions {
    actions = [
      "Microsoft.Authorization/denyAssignments/read",
      "Microsoft.Authorization/roleAssignments/read",
      "Microsoft.Insights/diagnosticSettings/read",
      "Microsoft.Storage/storageAccounts/read",
    ]
  }
}

resource "azurerm_role_definition" "role_definitions" {
  count = local.has_stores ? 1 : 0

  name              = "${var.name} reads what roles allow"
  scope             = local.subscription_scope
  description       = "Sallyport's control: definitions of roles, which lie at the subscription. A role that it cannot read counts as one that may do everything."
  assignable_scopes = [local.subscription_scope]

  permissions {
    actions = ["Microsoft.Authorization/roleDefinitions/read"]
  }
}

resource "azurerm_role_definition" "grants" {
  count = local.has_stores && var.just_in_time ? 1 : 0

  name              = "${var.name} gives roles while grants live"
  scope             = local.subscription_scope
  description       = "Sallyport's control: role assignments, under a condition that names two roles."
  assignable_scopes = [local.subscription_scope]

  permissions {
    actions = [
      "Microsoft.Authorization/roleAssignments/delete",
      "Microsoft.Authorization/roleAssignments/read",
      "Microsoft.Authorization/roleAssignments/write",
    ]
  }
}

resource "azurerm_role_definition" "anchor_writer" {
  count = var.anchor == null ? 0 : 1

  name              = "${var.name} appends to anchors"
  scope             = local.subscription_scope
  description       = "Sallyport's auditor: reads, makes and appends to blobs. It deletes none."
  assignable_scopes = [local.subscription_scope]

  permissions {
    data_actions = [
      "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/add/action",
      "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read",
      "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write",
    ]
  }
}

resource "azurerm_role_assignment" "store_access" {
  for_each = local.store_containers

  scope              = local.store_ids[each.key]
  role_definition_id = azurerm_role_definition.store_access[0].role_definition_resource_id
  principal_id       = module.control.principal_id
  principal_type     = "ServicePrincipal"
  description        = "Sallyport's control reads who can open the store ${each.key}."

  lifecycle {
    precondition {
      condition     = startswith(lower(local.store_ids[each.key]), lower("${local.subscription_scope}/"))
      error_message = "stores: ${each.key} lies in another subscription; call the module once for each subscription with weights."
    }
  }
}

resource "azurerm_role_assignment" "role_definitions" {
  count = local.has_stores ? 1 : 0

  scope              = local.subscription_scope
  role_definition_id = azurerm_role_definition.role_definitions[0].role_definition_resource_id
  principal_id       = module.control.principal_id
  principal_type     = "ServicePrincipal"
  description        = "Sallyport's control reads what roles allow."
}

resource "azurerm_role_assignment" "grants" {
  for_each = local.given_containers

  scope              = "${local.store_ids[each.value.store]}/blobServices/default/containers/${each.value.container}"
  role_definition_id = azurerm_role_definition.grants[0].role_definition_resource_id
  principal_id       = module.control.principal_id
  principal_type     = "ServicePrincipal"
  description        = "Sallyport's control gives roles on ${each.key} while grants live."

  # Learn, "Delegate Azure role assignment management to others with conditions".
  condition_version = "2.0"
  condition         = <<-EOT
    ((!(ActionMatches{'Microsoft.Authorization/roleAssignments/write'}))
     OR (@Request[Microsoft.Authorization/roleAssignments:RoleDefinitionId] ForAnyOfAnyValues:GuidEquals {${local.given_roles}}))
    AND
    ((!(ActionMatches{'Microsoft.Authorization/roleAssignments/delete'}))
     OR (@Resource[Microsoft.Authorization/roleAssignments:RoleDefinitionId] ForAnyOfAnyValues:GuidEquals {${local.given_roles}}))
  EOT

  # Containers of stores that are made here come first.
  depends_on = [module.store]
}
