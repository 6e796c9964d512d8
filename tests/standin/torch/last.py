"""Something else that is imported after the parts that matter."""
