"""Bounded proofs of policies by CBMC 6.6: `sluice dev prove`.

harness/KIND.c calls the hooks of one policy in any order that the kind's header allows, and states
what must hold of the answers. cbmc.py runs CBMC on it, proof_story.py tells a counterexample, and
bounds.toml has what each policy promises. proof_mutants.py plants faults by rule. command.py puts
them together.
"""
