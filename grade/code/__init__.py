"""What C sources, object files and linked kernels say, read without running them."""
