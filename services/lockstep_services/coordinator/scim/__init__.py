"""SCIM 2.0: an identity provider makes, changes, deactivates and removes users and groups."""
