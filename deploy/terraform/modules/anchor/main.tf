# Where the heads of the ledger's log are anchored: blobs that grow, and that nobody can change or
# delete, the auditor neither, once the policy is locked.

resource "azurerm_storage_account" "this" {
  name                     = var.account_name
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

  public_network_access_enabled    = false
  allow_nested_items_to_be_public  = false
  cross_tenant_replication_enabled = false
  allowed_copy_scope               = "AAD"

  https_traffic_only_enabled        = true
  min_tls_version                   = "TLS1_2"
  infrastructure_encryption_enabled = true

  network_rules {
    default_action = "Deny"
    bypass         = ["None"]
  }

  # No versions here: each append would make one, and the container's policy is what keeps the lines.
  blob_properties {
    delete_retention_policy {
      days = 30
    }

    container_delete_retention_policy {
      days = 30
    }
  }

  tags = var.tags
}

resource "azurerm_storage_container" "this" {
  name                  = "anchors"
  storage_account_id    = azurerm_storage_account.this.id
  container_access_type = "private"
}

resource "azurerm_storage_container_immutability_policy" "this" {
  storage_container_resource_manager_id = azurerm_storage_container.this.id
  immutability_period_in_days           = var.retention_days
  protected_append_writes_enabled       = true
  locked                                = var.locked
}

resource "azurerm_role_assignment" "writer" {
  scope              = azurerm_storage_container.this.id
  role_definition_id = var.writer_role_id
  principal_id       = var.writer_principal_id
  principal_type     = "ServicePrincipal"
  description        = "Sallyport's auditor appends heads of the ledger."
}

resource "azurerm_private_endpoint" "this" {
  name                = "${var.account_name}-blob"
  resource_group_name = var.resource_group_name
  location            = var.location
  subnet_id           = var.subnet_id

  private_service_connection {
    name                           = "${var.account_name}-blob"
    private_connection_resource_id = azurerm_storage_account.this.id
    subresource_names              = ["blob"]
    is_manual_connection           = false
  }

  private_dns_zone_group {
    name                 = "default"
    private_dns_zone_ids = [var.private_dns_zone_id]
  }

  tags = var.tags
}
