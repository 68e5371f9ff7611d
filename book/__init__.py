"""The book about Sluice: its pages and, in ext/, what builds it."""
