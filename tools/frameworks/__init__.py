"""The frameworks' own tool suites, run bare and with every tool under AX: what newly fails is a defect of AX."""
