"""What a submission may contain, and how a stranger's files are read, compiled and linked."""
