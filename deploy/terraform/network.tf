# Names of the private endpoints, where the site has no such zones.

locals {
  makes_zones = var.private_dns_zone_ids == null && var.network != null
  zones = local.makes_zones ? {
    blob       = "privatelink.blob.core.windows.net"
    servicebus = "privatelink.servicebus.windows.net"
  } : {}
  private_dns_zone_ids = local.makes_zones ? {
    blob       = azurerm_private_dns_zone.this["blob"].id
    servicebus = azurerm_private_dns_zone.this["servicebus"].id
  } : var.private_dns_zone_ids
  links = merge([
    for zone in keys(local.zones) : {
      for name, id in try(var.network.virtual_network_ids, {}) : "${zone}-${name}" => { zone = zone, network_id = id }
    }
  ]...)
}

resource "azurerm_private_dns_zone" "this" {
  for_each = local.zones

  name                = each.value
  resource_group_name = var.resource_group_name
  tags                = var.tags
}

resource "azurerm_private_dns_zone_virtual_network_link" "this" {
  for_each = local.links

  name                 = "${var.name}-${each.key}"
  private_dns_zone_id  = azurerm_private_dns_zone.this[each.value.zone].id
  virtual_network_id   = each.value.network_id
  registration_enabled = false
  tags                 = var.tags
}
