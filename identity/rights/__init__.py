"""Who has which right, and how they come to it: what `sallyport who-can` answers."""
