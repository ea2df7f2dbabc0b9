# Entra ID's risk by polling, and nothing else: two applications, no storage, no event hub. Somebody
# who may must consent to the permissions afterwards (output graph_permissions).

terraform {
  required_version = ">= 1.9"

  required_providers {
    azuread = {
      source  = "hashicorp/azuread"
      version = "~> 3.10"
    }
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "~> 5.2"
    }
  }
}

variable "subscription_id" {
  description = "Any subscription of the tenant; nothing is made in it."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", var.subscription_id))
    error_message = "subscription_id: a GUID."
  }
}

variable "oidc_issuer" {
  description = "az aks show --query oidcIssuerProfile.issuerUrl"
  type        = string
  nullable    = false

  validation {
    condition     = startswith(var.oidc_issuer, "https://")
    error_message = "oidc_issuer: as az aks show prints it, https://…/."
  }
}

provider "azurerm" {
  features {}

  subscription_id = var.subscription_id
}

provider "azuread" {}

module "sallyport" {
  source = "../.."

  name                = "sallyport-contoso"
  location            = "westeurope"
  resource_group_name = "security-logs"
  clusters            = { prod = { issuer = var.oidc_issuer } }

  export_activity_log = false
}

output "helm_values" {
  description = "Values of the chart for the cluster prod."
  value       = module.sallyport.helm_values["prod"]
}

output "graph_permissions" {
  description = "Permissions to consent to."
  value       = module.sallyport.graph_permissions
}
