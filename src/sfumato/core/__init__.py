"""Values that everything else is built on: numbers, unit, schema, budget, sensitivity, loss."""
