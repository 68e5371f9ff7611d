"""What C sources, object files and linked kernels contain, read without running them."""
