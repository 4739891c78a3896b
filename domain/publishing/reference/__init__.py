"""SourceReference: where a published executable comes from, as long as its publication has authority."""
