# An account for model weights: no keys, no public network, nothing that is deleted is gone at once.
# Who reads it is said by grants (`weights.azure.justInTime`), so nobody is given a role here.

resource "azurerm_storage_account" "this" {
  name                     = var.account_name
  resource_group_name      = var.resource_group_name
  location                 = var.location
  account_kind             = "StorageV2"
  account_tier             = "Standard"
  account_replication_type = var.replication

  # Whoever has a key, or a SAS made with one, is nobody in the logs.
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

  blob_properties {
    versioning_enabled            = true
    change_feed_enabled           = true
    change_feed_retention_in_days = var.kept_deleted_days

    delete_retention_policy {
      days                     = var.kept_deleted_days
      permanent_delete_enabled = false
    }

    container_delete_retention_policy {
      days = var.kept_deleted_days
    }
  }

  dynamic "immutability_policy" {
    for_each = var.immutable_days > 0 ? [var.immutable_days] : []

    content {
      period_since_creation_in_days = immutability_policy.value
      state                         = "Unlocked"
      allow_protected_append_writes = false
    }
  }

  tags = var.tags

  lifecycle {
    prevent_destroy = true
  }
}

resource "azurerm_storage_container" "this" {
  for_each = var.containers

  name                  = each.key
  storage_account_id    = azurerm_storage_account.this.id
  container_access_type = "private"
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
