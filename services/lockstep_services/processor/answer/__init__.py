"""What an app's leader answers: on-demand queries, writes, operators' commands."""
