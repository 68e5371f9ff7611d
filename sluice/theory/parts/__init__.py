"""Parts that models share: a drive's figures, its mean times, and the steps of a program that
reads."""
