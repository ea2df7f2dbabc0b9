"""Fields that the table of this release does not know: nobody has judged them."""
