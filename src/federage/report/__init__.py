"""What was recorded, as pages, figures and tables. It reads folders of runs, and plays nothing."""

from federage.report.files import FORMATS, export
from federage.report.pages import html, picture, write

__all__ = ["FORMATS", "export", "html", "picture", "write"]
