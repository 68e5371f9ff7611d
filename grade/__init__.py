"""The labs and their autograder. What measures is in sluice/."""
