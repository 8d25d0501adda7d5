"""AX under the tools of an agent framework: one module per framework, imported only where it is used.

`ax_adapters.langchain` wraps LangChain and LangGraph tools. Importing this package imports no framework.
"""
