"""Tools for those who hold the data: draft a contract, look for mistakes in it, amend it."""
