"""How accurate."""
