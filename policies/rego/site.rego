# METADATA
# scope: package
# title: What a site adds
# description: >-
#   Nothing here: `sallyport policy build` writes this file anew, with the signals and the rules of
#   the site by rule.
package sallyport.site

signals := {}

denials := {}

warnings := {}
