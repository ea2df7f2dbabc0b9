# Containers that Azure Monitor writes: blobs by the hour, to which nothing but an append can be done.

resource "azurerm_storage_account" "this" {
  count = local.to_container ? 1 : 0

  name                     = var.container_account_name
  resource_group_name      = var.resource_group_name
  location                 = var.location
  account_kind             = "StorageV2"
  account_tier             = "Standard"
  account_replication_type = "ZRS"

  shared_access_key_enabled       = false
  local_user_enabled              = false
  sftp_enabled                    = false
  nfsv3_enabled                   = false
  default_to_oauth_authentication = true

  # Open to Azure's own services alone, of which Azure Monitor is one; everything else is denied.
  public_network_access_enabled    = true
  allow_nested_items_to_be_public  = false
  cross_tenant_replication_enabled = false
  allowed_copy_scope               = "AAD"

  https_traffic_only_enabled        = true
  min_tls_version                   = "TLS1_2"
  infrastructure_encryption_enabled = true

  network_rules {
    default_action = "Deny"
    bypass         = ["AzureServices"]
  }

  blob_properties {
    delete_retention_policy {
      days = 30
    }

    container_delete_retention_policy {
      days = 30
    }
  }

  tags = var.tags

  lifecycle {
    precondition {
      condition     = var.container_account_name != null
      error_message = "container_account_name: is needed where destination is container."
    }
  }
}

resource "azurerm_storage_container" "this" {
  for_each = local.containers

  name                  = each.key
  storage_account_id    = azurerm_storage_account.this[0].id
  container_access_type = "private"
}

resource "azurerm_storage_container_immutability_policy" "this" {
  for_each = local.containers

  storage_container_resource_manager_id = azurerm_storage_container.this[each.key].id
  immutability_period_in_days           = var.kept_days
  # Azure Monitor appends to a blob for an hour.
  protected_append_writes_enabled = true
  locked                          = false
}

resource "azurerm_role_assignment" "auditor_containers" {
  for_each = local.containers

  scope                = azurerm_storage_container.this[each.key].id
  role_definition_name = "Storage Blob Data Reader"
  principal_id         = var.auditor_principal_id
  principal_type       = "ServicePrincipal"
  description          = "Sallyport's auditor reads ${each.key}."
}

resource "azurerm_private_endpoint" "container" {
  count = local.to_container ? 1 : 0

  name                = "${var.name}-logs"
  resource_group_name = var.resource_group_name
  location            = var.location
  subnet_id           = var.subnet_id

  private_service_connection {
    name                           = "${var.name}-logs"
    private_connection_resource_id = azurerm_storage_account.this[0].id
    subresource_names              = ["blob"]
    is_manual_connection           = false
  }

  private_dns_zone_group {
    name                 = "default"
    private_dns_zone_ids = [var.private_dns_zone_ids.blob]
  }

  tags = var.tags
}
