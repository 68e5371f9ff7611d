"""What models share: a drive's figures, its mean times, and what a program does that reads."""
