"""How fast Sluice is: in real time (live), in virtual time (scaling), and against its targets
(targets)."""
