"""What two or more commands share; commands import no other command."""
