"""What a call costs under AX, beside a raw loop, LangGraph and DBOS: `python -m benchmarks`."""
