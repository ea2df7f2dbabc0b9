# Event hubs that Azure Monitor writes and Sallyport reads by the Kafka protocol. Sallyport needs no
# consumer groups of Event Hubs here: the auditor uses none, and Kafka's are made by who reads.

resource "azurerm_eventhub_namespace" "this" {
  count = local.has_hub ? 1 : 0

  name                = var.name
  resource_group_name = var.resource_group_name
  location            = var.location
  # Basic has no Kafka.
  sku                      = "Standard"
  capacity                 = var.hub.capacity
  auto_inflate_enabled     = var.hub.most_capacity > var.hub.capacity
  maximum_throughput_units = var.hub.most_capacity > var.hub.capacity ? var.hub.most_capacity : null

  # Azure Monitor can sign in with a key only (MicrosoftDocs/azure-docs issue 119932).
  local_authentication_enabled  = var.hub.accepts_keys
  public_network_access_enabled = false
  minimum_tls_version           = "1.2"

  network_rulesets {
    default_action                 = "Deny"
    public_network_access_enabled  = false
    trusted_service_access_enabled = true # Azure Monitor
  }

  tags = var.tags
}

resource "azurerm_eventhub" "this" {
  for_each = local.hubs

  name            = each.key
  namespace_id    = azurerm_eventhub_namespace.this[0].id
  partition_count = var.hub.partitions

  retention_description {
    cleanup_policy          = "Delete"
    retention_time_in_hours = var.hub.kept_hours
  }
}

# The one rule made here can send and nothing else, which is enough where the setting names its hub.
resource "azurerm_eventhub_namespace_authorization_rule" "azure_monitor" {
  count = local.has_hub ? 1 : 0

  name                = "azure-monitor"
  namespace_name      = azurerm_eventhub_namespace.this[0].name
  resource_group_name = var.resource_group_name
  send                = true
  listen              = false
  manage              = false
}

resource "azurerm_role_assignment" "auditor_hubs" {
  for_each = local.weight_hubs

  scope                = azurerm_eventhub.this[each.key].id
  role_definition_name = "Azure Event Hubs Data Receiver"
  principal_id         = var.auditor_principal_id
  principal_type       = "ServicePrincipal"
  description          = "Sallyport's auditor reads the hub ${each.key}."
}

resource "azurerm_role_assignment" "control_risk" {
  count = var.entra_risk ? 1 : 0

  scope                = azurerm_eventhub.this["risk"].id
  role_definition_name = "Azure Event Hubs Data Receiver"
  principal_id         = var.control_principal_id
  principal_type       = "ServicePrincipal"
  description          = "Sallyport's control reads the hub risk."
}

resource "azurerm_private_endpoint" "hub" {
  count = local.has_hub ? 1 : 0

  name                = "${var.name}-hub"
  resource_group_name = var.resource_group_name
  location            = var.location
  subnet_id           = var.subnet_id

  private_service_connection {
    name                           = "${var.name}-hub"
    private_connection_resource_id = azurerm_eventhub_namespace.this[0].id
    subresource_names              = ["namespace"]
    is_manual_connection           = false
  }

  private_dns_zone_group {
    name                 = "default"
    private_dns_zone_ids = [var.private_dns_zone_ids.servicebus]
  }

  tags = var.tags
}
