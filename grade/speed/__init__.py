"""How fast Sluice is: in real time (live), in virtual time (scaling), as promised (targets)."""
