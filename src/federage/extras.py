"""Packages that come with an extra of federage, imported only where they are used."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from federage.errors import MissingExtra


@contextlib.contextmanager
def extra(name: str, purpose: str) -> Generator[None]:
    """A block that imports what `federage[name]` brings; where a package is missing, the error says how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or name).partition(".")[0]
        raise MissingExtra(
            f"{purpose} needs the package {package!r}, which is not installed; "
            f"install it with: pip install 'federage[{name}]'"
        ) from None
