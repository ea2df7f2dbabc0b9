# What each part is made with. Nothing is applied.

mock_provider "azuread" {
  mock_data "azuread_service_principal" {
    defaults = {
      object_id    = "00000000-0000-0000-0000-0000000000a0"
      app_role_ids = { "Application.Read.All" = "00000000-0000-0000-0000-0000000000a1" }
    }
  }
}

mock_provider "azurerm" {}

variables {
  name                = "sallyport-test"
  location            = "westeurope"
  resource_group_name = "weights"
  subnet_id           = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/network/providers/Microsoft.Network/virtualNetworks/prod/subnets/endpoints"
  private_dns_zone_id = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones/privatelink.blob.core.windows.net"
  private_dns_zone_ids = {
    blob       = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones/privatelink.blob.core.windows.net"
    servicebus = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones/privatelink.servicebus.windows.net"
  }
  tags = {}
}

run "a_process_has_no_key_and_one_subject" {
  command = plan

  module {
    source = "./modules/process"
  }

  variables {
    display_name        = "sallyport-control"
    service_account     = "sallyport-control"
    clusters            = { prod = { issuer = "https://issuer.example/1/", namespace = "sallyport-system" } }
    audience            = "api://AzureADTokenExchange"
    graph_permissions   = ["Application.Read.All"]
    grant_admin_consent = false
    owners              = []
  }

  assert {
    condition = (
      azuread_application_federated_identity_credential.this["prod"].subject == "system:serviceaccount:sallyport-system:sallyport-control" &&
      azuread_application_federated_identity_credential.this["prod"].issuer == "https://issuer.example/1/"
    )
    error_message = "Only control's own service account, of this cluster's issuer, may sign in."
  }

  assert {
    condition     = length(azuread_app_role_assignment.graph) == 0
    error_message = "Nobody asked for consent."
  }

  assert {
    condition     = length(azuread_application.this.password) == 0 && azuread_application.this.sign_in_audience == "AzureADMyOrg"
    error_message = "An application of this tenant alone, without a password."
  }
}

run "a_store_has_no_key_no_public_network_and_a_memory" {
  command = plan

  module {
    source = "./modules/store"
  }

  variables {
    account_name      = "llamaweights"
    containers        = ["prod"]
    replication       = "ZRS"
    kept_deleted_days = 30
    immutable_days    = 30
  }

  assert {
    condition = !anytrue([
      azurerm_storage_account.this.shared_access_key_enabled,
      azurerm_storage_account.this.public_network_access_enabled,
      azurerm_storage_account.this.allow_nested_items_to_be_public,
      azurerm_storage_account.this.cross_tenant_replication_enabled,
      azurerm_storage_account.this.local_user_enabled,
      azurerm_storage_account.this.sftp_enabled,
      azurerm_storage_account.this.nfsv3_enabled,
    ])
    error_message = "A way into the account that is not Entra ID by the private endpoint."
  }

  assert {
    condition = alltrue([
      azurerm_storage_account.this.https_traffic_only_enabled,
      azurerm_storage_account.this.min_tls_version == "TLS1_2",
      azurerm_storage_account.this.infrastructure_encryption_enabled,
      azurerm_storage_account.this.network_rules[0].default_action == "Deny",
      azurerm_storage_account.this.blob_properties[0].versioning_enabled,
      azurerm_storage_account.this.blob_properties[0].delete_retention_policy[0].days == 30,
      azurerm_storage_account.this.immutability_policy[0].period_since_creation_in_days == 30,
      azurerm_storage_container.this["prod"].container_access_type == "private",
    ])
    error_message = "Encrypted twice, denied by default, and what is deleted can be restored."
  }
}

run "hubs_are_private_and_the_only_rule_sends" {
  command = plan

  module {
    source = "./modules/logs"
  }

  variables {
    destination            = "event-hub"
    store_ids              = { llama = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/weights/providers/Microsoft.Storage/storageAccounts/llama" }
    aks_ids                = { prod = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/prod/providers/Microsoft.ContainerService/managedClusters/prod" }
    subscription_id        = "00000000-0000-0000-0000-0000000000c1"
    entra_audit            = true
    entra_risk             = true
    auditor_principal_id   = "00000000-0000-0000-0000-0000000000b1"
    control_principal_id   = "00000000-0000-0000-0000-0000000000b2"
    hub                    = { capacity = 1, most_capacity = 4, partitions = 4, kept_hours = 168, accepts_keys = true }
    container_account_name = null
    kept_days              = 180
  }

  assert {
    condition     = !azurerm_eventhub_namespace.this[0].public_network_access_enabled && azurerm_eventhub_namespace.this[0].minimum_tls_version == "1.2"
    error_message = "Event hubs are reached by the private endpoint alone."
  }

  assert {
    condition = (
      azurerm_eventhub_namespace_authorization_rule.azure_monitor[0].send &&
      !azurerm_eventhub_namespace_authorization_rule.azure_monitor[0].listen &&
      !azurerm_eventhub_namespace_authorization_rule.azure_monitor[0].manage
    )
    error_message = "Azure Monitor's rule may send, and neither read nor manage."
  }

  assert {
    condition     = toset([for log in azurerm_monitor_diagnostic_setting.store["llama"].enabled_log : log.category]) == toset(["StorageRead", "StorageWrite", "StorageDelete"])
    error_message = "All three categories of a store are logged."
  }

  assert {
    condition     = azurerm_monitor_diagnostic_setting.store["llama"].target_resource_id == "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/weights/providers/Microsoft.Storage/storageAccounts/llama/blobServices/default"
    error_message = "The blobs are logged: of the account itself there are metrics only."
  }

  assert {
    condition = (
      toset(keys(azurerm_role_assignment.auditor_hubs)) == toset(["activity", "aks", "entra", "storage"]) &&
      alltrue([for one in values(azurerm_role_assignment.auditor_hubs) : one.principal_id == "00000000-0000-0000-0000-0000000000b1"]) &&
      azurerm_role_assignment.control_risk[0].principal_id == "00000000-0000-0000-0000-0000000000b2"
    )
    error_message = "The auditor reads logs of weights, control reads risk, and neither the other's."
  }
}

run "containers_of_logs_only_grow" {
  command = plan

  module {
    source = "./modules/logs"
  }

  variables {
    destination            = "container"
    store_ids              = { llama = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/weights/providers/Microsoft.Storage/storageAccounts/llama" }
    aks_ids                = {}
    subscription_id        = null
    entra_audit            = false
    entra_risk             = false
    auditor_principal_id   = "00000000-0000-0000-0000-0000000000b1"
    control_principal_id   = "00000000-0000-0000-0000-0000000000b2"
    hub                    = { capacity = 1, most_capacity = 1, partitions = 1, kept_hours = 24, accepts_keys = false }
    container_account_name = "weightlogs"
    kept_days              = 180
  }

  assert {
    condition     = length(azurerm_eventhub_namespace.this) == 0 && !azurerm_storage_account.this[0].shared_access_key_enabled
    error_message = "No event hub and no key."
  }

  assert {
    condition = alltrue([
      for policy in values(azurerm_storage_container_immutability_policy.this) :
      policy.protected_append_writes_enabled && policy.immutability_period_in_days == 180
    ]) && length(azurerm_storage_container_immutability_policy.this) == 3
    error_message = "Blobs of logs can be appended to for an hour, and not be changed."
  }
}

run "an_anchor_grows_and_is_locked_when_asked" {
  command = plan

  module {
    source = "./modules/anchor"
  }

  variables {
    account_name        = "anchors"
    retention_days      = 400
    locked              = true
    writer_role_id      = "/subscriptions/00000000-0000-0000-0000-0000000000c1/providers/Microsoft.Authorization/roleDefinitions/00000000-0000-0000-0000-0000000000d0"
    writer_principal_id = "00000000-0000-0000-0000-0000000000b1"
  }

  assert {
    condition = alltrue([
      azurerm_storage_container_immutability_policy.this.locked,
      azurerm_storage_container_immutability_policy.this.protected_append_writes_enabled,
      azurerm_storage_container_immutability_policy.this.immutability_period_in_days == 400,
      !azurerm_storage_account.this.shared_access_key_enabled,
      !azurerm_storage_account.this.public_network_access_enabled,
    ])
    error_message = "Lines can be appended, and nobody can change them."
  }
}
