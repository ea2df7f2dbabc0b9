# What comes out, with providers that make nothing up but ids: run `terraform test` or `tofu test`.

mock_provider "azuread" {
  mock_data "azuread_service_principal" {
    defaults = {
      object_id = "00000000-0000-0000-0000-0000000000a0"
      app_role_ids = {
        "Application.Read.All"                   = "00000000-0000-0000-0000-0000000000a1"
        "IdentityRiskEvent.Read.All"             = "00000000-0000-0000-0000-0000000000a2"
        "IdentityRiskyServicePrincipal.Read.All" = "00000000-0000-0000-0000-0000000000a3"
        "IdentityRiskyUser.Read.All"             = "00000000-0000-0000-0000-0000000000a4"
        "User.Read.All"                          = "00000000-0000-0000-0000-0000000000a5"
      }
    }
  }
  mock_resource "azuread_application" {
    defaults = {
      id        = "/applications/00000000-0000-0000-0000-0000000000b0"
      client_id = "00000000-0000-0000-0000-0000000000b1"
    }
  }
  mock_resource "azuread_service_principal" {
    defaults = { object_id = "00000000-0000-0000-0000-0000000000b2" }
  }
}

mock_provider "azurerm" {
  mock_data "azurerm_client_config" {
    defaults = {
      tenant_id       = "00000000-0000-0000-0000-0000000000c0"
      subscription_id = "00000000-0000-0000-0000-0000000000c1"
    }
  }
  mock_resource "azurerm_storage_account" {
    defaults = {
      id                    = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/weights/providers/Microsoft.Storage/storageAccounts/account"
      primary_blob_endpoint = "https://account.blob.core.windows.net/"
    }
  }
  mock_resource "azurerm_storage_container" {
    defaults = { id = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/weights/providers/Microsoft.Storage/storageAccounts/account/blobServices/default/containers/some" }
  }
  mock_resource "azurerm_private_dns_zone" {
    defaults = { id = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones/privatelink.blob.core.windows.net" }
  }
  mock_resource "azurerm_eventhub_namespace" {
    defaults = { id = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/logs/providers/Microsoft.EventHub/namespaces/sallyport-test" }
  }
  mock_resource "azurerm_eventhub" {
    defaults = { id = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/logs/providers/Microsoft.EventHub/namespaces/sallyport-test/eventhubs/one" }
  }
  mock_resource "azurerm_eventhub_namespace_authorization_rule" {
    defaults = { id = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/logs/providers/Microsoft.EventHub/namespaces/sallyport-test/authorizationRules/azure-monitor" }
  }
  mock_resource "azurerm_role_definition" {
    defaults = { role_definition_resource_id = "/subscriptions/00000000-0000-0000-0000-0000000000c1/providers/Microsoft.Authorization/roleDefinitions/00000000-0000-0000-0000-0000000000d0" }
  }
}

variables {
  name                = "sallyport-test"
  location            = "westeurope"
  resource_group_name = "logs"
  clusters            = { prod = { issuer = "https://westeurope.oic.prod-aks.azure.com/t/1/" } }
  network = {
    subnet_id = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/network/providers/Microsoft.Network/virtualNetworks/prod/subnets/endpoints"
  }
  private_dns_zone_ids = {
    blob       = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones/privatelink.blob.core.windows.net"
    servicebus = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones/privatelink.servicebus.windows.net"
  }
  existing_stores = {
    older = {
      id         = "/subscriptions/00000000-0000-0000-0000-0000000000c1/resourceGroups/weights/providers/Microsoft.Storage/storageAccounts/older"
      containers = ["checkpoints"]
    }
  }
  anchor = {
    account_name        = "anchors"
    resource_group_name = "anchors"
  }
}

run "values_for_event_hubs" {
  variables {
    push_risk    = true
    just_in_time = true
  }

  assert {
    condition = yamldecode(output.helm_values["prod"]).identity == {
      enabled           = true
      tenant            = "00000000-0000-0000-0000-0000000000c0"
      clientId          = "00000000-0000-0000-0000-0000000000b1"
      federatedAudience = "api://AzureADTokenExchange"
      guests            = false
      eventHub = {
        servers = ["sallyport-test.servicebus.windows.net:9093"]
        topics  = ["risk"]
        group   = "sallyport-prod"
      }
    }
    error_message = "identity: is not what the chart takes."
  }

  assert {
    condition = yamldecode(output.helm_values["prod"]).weights == {
      signIn        = { tenant = "00000000-0000-0000-0000-0000000000c0", clientId = "00000000-0000-0000-0000-0000000000b1" }
      tenants       = ["00000000-0000-0000-0000-0000000000c0"]
      subscriptions = ["00000000-0000-0000-0000-0000000000c1"]
      azure = {
        enabled    = true
        tenant     = "00000000-0000-0000-0000-0000000000c0"
        clientId   = "00000000-0000-0000-0000-0000000000b1"
        justInTime = true
      }
      eventHub = {
        servers = ["sallyport-test.servicebus.windows.net:9093"]
        topics  = ["activity", "storage"]
      }
    }
    error_message = "weights: is not what the chart takes."
  }

  assert {
    condition     = yamldecode(output.helm_values["prod"]).auditor.ledger.anchors.blob == "https://account.blob.core.windows.net/anchors/prod"
    error_message = "anchors.blob: must be the container and a prefix of the cluster's own."
  }

  assert {
    condition     = join(" ", output.graph_permissions) == "Application.Read.All IdentityRiskEvent.Read.All IdentityRiskyServicePrincipal.Read.All IdentityRiskyUser.Read.All"
    error_message = "graph_permissions: must be what control asks Graph for, and no more."
  }
}

run "values_for_containers" {
  variables {
    log_destination     = "container"
    log_account_name    = "weightlogs"
    export_entra_audit  = true
    export_activity_log = true
  }

  assert {
    condition = yamldecode(output.helm_values["prod"]).weights.container == {
      site       = "https://account.blob.core.windows.net"
      containers = ["insights-activity-logs", "insights-logs-auditlogs", "insights-logs-storagedelete", "insights-logs-storageread", "insights-logs-storagewrite"]
    }
    error_message = "weights.container: must name each container that Azure Monitor writes."
  }

  assert {
    condition     = !can(yamldecode(output.helm_values["prod"]).weights.eventHub)
    error_message = "weights.eventHub: nothing is sent to an event hub."
  }
}

run "risk_alone_makes_nothing_in_azure" {
  variables {
    network              = null
    private_dns_zone_ids = null
    existing_stores      = {}
    anchor               = null
    export_activity_log  = false
  }

  assert {
    condition     = length(module.logs) + length(module.store) + length(module.anchor) + length(azurerm_role_definition.store_access) + length(azurerm_private_dns_zone.this) == 0
    error_message = "Nothing is asked for that costs money or opens anything."
  }

  assert {
    condition     = yamldecode(output.helm_values["prod"]).weights.azure.enabled == false
    error_message = "weights.azure.enabled: there is no store to look at."
  }
}
