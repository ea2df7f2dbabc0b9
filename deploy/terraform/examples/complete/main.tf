# One cluster, one new store and one that is there already, everything on. What you paste elsewhere:
#
#   terraform output -raw helm_values > azure.yaml
#   helm upgrade sallyport helm/sallyport -n sallyport-system --reset-then-reuse-values -f azure.yaml

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

provider "azurerm" {
  features {}

  subscription_id = var.subscription_id
  # Accounts have no keys: Terraform signs in to them as whoever runs it.
  storage_use_azuread = true
}

provider "azuread" {}

variable "subscription_id" {
  description = "Subscription of the stores and the logs."
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

locals {
  network = "/subscriptions/${var.subscription_id}/resourceGroups/network/providers/Microsoft.Network/virtualNetworks/prod"
}

module "sallyport" {
  source = "../.."

  name                = "sallyport-contoso"
  location            = "westeurope"
  resource_group_name = "security-logs"

  clusters = {
    prod = {
      issuer = var.oidc_issuer
      aks_id = "/subscriptions/${var.subscription_id}/resourceGroups/prod/providers/Microsoft.ContainerService/managedClusters/prod"
    }
  }

  network = {
    subnet_id           = "${local.network}/subnets/endpoints"
    virtual_network_ids = { prod = local.network }
  }

  push_risk           = true
  grant_admin_consent = true

  stores = {
    llama = {
      account_name        = "contosollama"
      resource_group_name = "weights"
      containers          = ["prod", "shared"]
      immutable_days      = 30
    }
  }
  existing_stores = {
    older = {
      id         = "/subscriptions/${var.subscription_id}/resourceGroups/weights/providers/Microsoft.Storage/storageAccounts/contosoolder"
      containers = ["checkpoints"]
    }
  }
  just_in_time       = true
  export_entra_audit = true

  anchor = {
    account_name        = "contosoanchors"
    resource_group_name = "security-anchors"
    locked              = true
  }

  tags = { product = "sallyport" }
}

output "helm_values" {
  description = "Values of the chart for the cluster prod."
  value       = module.sallyport.helm_values["prod"]
}

output "weight_stores" {
  description = "WeightStores to complete and apply."
  value       = module.sallyport.weight_stores
}
