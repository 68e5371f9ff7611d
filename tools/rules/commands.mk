# Goals that are commands of bin/sluice: those of `make help`, and those of earlier releases. Included
# by the Makefile.
#
# sluice/cli/old_goals.toml has the words of each goal, and an option for each variable. The new
# command is printed and done: it sets up what it needs, has built what it runs, and checks what it
# was given.

COMMANDS := $(shell sed -n '/^\[.*\]$$/{s/^\[\(.*\)\]$$/\1/;h;n;/^verb = /{x;p;};}' sluice/cli/old_goals.toml 2>/dev/null)

# What an outer make tells an inner make does not concern those that a command starts.
.PHONY: $(COMMANDS)
$(COMMANDS):
	@unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES; sh tools/setup.sh run >&2 && exec $(PYTHON) -P -m \
	    sluice.cli.old_goals $@ $(foreach v,$(TYPED),$(call word_of,$(v)=$(value $(v)))) $(if $(WAITS_FOR_GDB),GDB=1)
experiment: ## run an experiment and write its report (E=name or all, SIZE=quick, ENGINE=machine: by QEMU, LIST=1 lists)
grade: ## score this tree's solution of LAB=, or SUBMISSION=folder-or-archive
book: ## build the book as a site that opens offline, build/book/index.html
