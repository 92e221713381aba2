"""`python -m federage.cli`."""

import sys

from federage.cli.main import main

sys.exit(main())
