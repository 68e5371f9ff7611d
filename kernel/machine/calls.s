# What `call` and `tail` mean in the kernel, read by the assembler before each file.
#
# The kernel's text is shorter than the megabyte that jal reaches, so a call needs no auipc before
# it. QEMU follows a jal at once if it stays in its page, and looks up where each jalr leads.
    .macro call to
    jal \to
    .endm
    .macro tail to
    j \to
    .endm
