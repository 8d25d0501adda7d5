"""`python -m ax_adapters.demo` is `axd demo`."""

import sys

from ax_adapters.demo import main

sys.exit(main(sys.argv[1:]))
