"""AX under the tools of an agent framework: one module per framework, imported only where it is used.

`ax_adapters.langchain` wraps LangChain and LangGraph tools, `ax_adapters.llama_index` those of LlamaIndex. Importing
this package imports no framework.
"""
