"""Every Python example in README and docs runs, top to bottom, page by page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> list[tuple[int, str]]:
    """The blocks of a page, with the line each begins on."""
    text = page.read_text()
    return [(text.count("\n", 0, match.start(1)) + 1, match[1]) for match in FENCE.finditer(text)]


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.stem)
def test_examples_run(page: Path) -> None:
    names: dict[str, object] = {}
    for line, source in examples(page):
        exec(compile("\n" * (line - 1) + source, str(page), "exec"), names)


def test_paths_named_in_pages_exist() -> None:
    """`docs/...`, `tests/...`, `src/...`, `benchmarks/...`, `scripts/...` in backquotes are files or folders here."""
    named = re.compile(r"`((?:docs|tests|src|benchmarks|scripts)/[\w./-]*)`")
    pages = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
    missing = [
        (page.name, path) for page in pages for path in named.findall(page.read_text()) if not (ROOT / path).exists()
    ]
    assert not missing
