# METADATA
# scope: package
# title: A site's signals
# description: >-
#   None here: `sallyport policy build --site` writes this file anew, with the signals of the site
#   by rule.
package sallyport.site

signals := {}
