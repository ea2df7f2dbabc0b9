"""A fake Entra ID: sign-in and Microsoft Graph."""
