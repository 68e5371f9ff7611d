"""Long fuzzing by seed: `sluice dev fuzz`.

targets.py makes the inputs and gives them to what is tried, and command.py goes on until the time
is over, keeps what fails, and says how to repeat it.
"""
