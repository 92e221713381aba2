"""The paper's figures and tables, each from its committed file.

`FIGURES` names them; `make` plays what a figure needs into folders, reads the records and draws. The files beside this
one are experiments as `federage run` takes them. With `small`, a figure is made of experiments that a laptop plays in
minutes, and says so on its face.
"""

from federage.paper.drawing import Made, Table
from federage.paper.figures import FIGURES, Figure, make

__all__ = ["FIGURES", "Figure", "Made", "Table", "make"]
