"""The control plane: desired state, placement, status."""
