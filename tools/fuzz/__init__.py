"""Long fuzzing by seed: `sluice dev fuzz`.

fuzz_targets.py makes the inputs and gives them to what is tried. command.py goes on until the time
is over, keeps what fails, and says how to repeat it.
"""
