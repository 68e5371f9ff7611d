"""The contents of C sources, object files and linked kernels, read without running them."""
