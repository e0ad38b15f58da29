"""The archive's writer: an app's logs into its tables, behind the logs, by who holds the lease."""
