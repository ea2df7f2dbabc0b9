"""Who has which right, and how they come to it, as `sallyport who-can` answers."""
