"""Models, reference solutions and processes that several tests share."""
