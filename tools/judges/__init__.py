"""Judge the replace policies: their hits beside those of programs that others wrote."""
