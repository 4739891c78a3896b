"""The shape of each record on the log: Avro schemas, their catalogue, codec and upcasters."""
