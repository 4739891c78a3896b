"""PublicationSlot: the one publication of (shell, definition, name) that has authority."""
