"""The door to private data. So far its contract: what a curator is."""

from sfumato.session.curator import Continual, Curator, Stream

__all__ = ["Continual", "Curator", "Stream"]
