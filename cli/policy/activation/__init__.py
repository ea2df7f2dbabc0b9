"""`sallyport policy status`, `activate` and `rollback`: which published bundle is in force."""
