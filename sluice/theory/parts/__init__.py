"""Give models what they share: a drive's figures, its mean times, and the steps of a reader."""
