"""Every message says what was expected, what came and what to do."""

import numpy as np
import pytest

from federage.errors import DamagedFile, MissingData, RecordError
from federage.participation import (
    Coins,
    Cyclic,
    Markov,
    Prescribed,
    RandomSize,
    Table,
    Trace,
    Weighted,
    full,
    skewed,
    uniform,
)


@pytest.mark.parametrize(
    ("construct", "message"),
    [
        (lambda: Weighted([1, -2, 1], 1), r"prior takes numbers >= 0, but prior\[1\]=-2.0 came; use 0"),
        (lambda: Weighted([], 1), "but it came empty; pass at least one client"),
        (lambda: Weighted([1, np.nan], 1), r"finite numbers, but prior\[1\]=nan came"),
        (lambda: Weighted([np.inf, 1], 1), r"finite numbers, but prior\[0\]=inf came"),
        (lambda: Weighted([0, 0], 1), "at least one number > 0, but all 2 are zero"),
        (lambda: Weighted([[1, 2]], 1), r"but shape \(1, 2\) came; pass a flat list"),
        (lambda: Weighted(1.0, 1), "but the scalar 1.0 came; pass a list or clients="),
        (lambda: Weighted("ab", 1), "prior takes one number a client, but 'ab' came"),
        (lambda: Weighted([1, 1, 0], 3), "at most the 2 clients whose prior is > 0, but 3 came"),
        (lambda: Weighted([1, 1, 0], 4), "at most the 3 clients there are, but 4 came"),
        (lambda: Weighted([1, 1], 0), "arrivals takes an integer >= 1, but 0 came"),
        (lambda: Weighted([1, 1], 1.5), "arrivals takes an integer, but 1.5 came"),
        (lambda: uniform(0, 1), "clients takes an integer >= 1, but 0 came"),
        (lambda: uniform(3, 4), "at most the 3 clients there are, but 4 came"),
        (lambda: full(0), "clients takes an integer >= 1, but 0 came"),
        (lambda: skewed(30, 3, 30), "rare takes fewer than the 30 clients there are, but 30 came"),
        (lambda: skewed(30, 3, [30]), "rare takes client ids 0 to 29, but 30 came"),
        (lambda: skewed(30, 3, 3, "harsh"), "one of mild, moderate, severe, but 'harsh' came"),
        (lambda: skewed(30, 3, 3, 0), r"in \(0, 1\], but 0 came"),
        (lambda: skewed(30, 3, 3, 1.5), r"in \(0, 1\], but 1.5 came"),
        (lambda: Prescribed([0.5, 1.5]), r"in \[0, 1\], but inclusion\[1\]=1.5 came"),
        (lambda: Prescribed([0.5, 0.7]), "sum to an integer M >= 1, but they sum to 1.2;"),
        (lambda: Prescribed([0.0, 0.0]), "sum to an integer M >= 1, but they sum to 0;"),
        (lambda: Coins([0.5, -0.1]), r"in \[0, 1\], but probabilities\[1\]=-0.1 came"),
        (lambda: Coins([0.0, 0.0]), "at least one number > 0, but all 2 are zero"),
        (lambda: Coins(0.5), "but the scalar 0.5 came; pass a list or clients="),
        (lambda: Coins([0.5], clients=2), "each of 2 clients, but 1 came; match them"),
        (lambda: Table([[0], [1]], [0.5, 0.6]), "sum to 1, but they sum to 1.1; divide by their sum"),
        (lambda: Table([[0], [1]], [1.0]), "each of 2 entries, but 1 came"),
        (lambda: Table([[0], []], [0.5, 0.5]), r"subsets\[1\] takes at least one client, but it came empty"),
        (lambda: Table([[0, 0]], [1.0]), r"subsets\[0\] takes every client at most once, but 0 came twice"),
        (lambda: Table([[3]], [1.0], clients=3), r"subsets\[0\] takes client ids 0 to 2, but 3 came"),
        (lambda: Table([[-1]], [1.0]), r"takes client ids 0, 1, ..., but -1 came"),
        (lambda: Table([[0.5]], [1.0]), "takes a list of integer client ids, but"),
        (lambda: Table([3], [1.0]), "takes a list of integer client ids, but 3 came"),
        (lambda: Table([], []), "at least one list of client ids, but none came"),
        (lambda: RandomSize([1, 1], {3: 1.0}), "at most the 2 clients there are, but 3 came"),
        (lambda: RandomSize([1, 1], {0: 0.5, 1: 0.5}), "every size in sizes takes an integer >= 1, but 0 came"),
        (lambda: RandomSize([1, 1], {1: 0.5}), "sizes takes numbers that sum to 1, but they sum to 0.5"),
        (lambda: RandomSize([1, 1], [1.5, -0.5]), r"in \[0, 1\], but sizes\[0\]=1.5 came"),
        (lambda: RandomSize([1, 1], {}), r"but it came empty; pass \{3: 1.0\} for M = 3"),
        (lambda: Markov([0.1, 2.0], [0.1, 0.1]), r"in \[0, 1\], but on_to_off\[1\]=2.0 came"),
        (lambda: Markov([0.1, 0.1], [0.1]), "off_to_on takes one number for each of 2 clients, but 1 came"),
        (lambda: Markov(0.1, 0.1), "but the scalar 0.1 came; pass a list or clients="),
        (lambda: Markov([0.1, 0.0], [0.1, 0.0]), "not both 0 and not both 1, but client 1 has both 0,"),
        (lambda: Markov([1.0, 0.1], [1.0, 0.1]), "not both 0 and not both 1, but client 0 has both 1,"),
        (lambda: Markov([0.1, 0.1], [0.0, 0.0]), "off_to_on takes at least one number > 0, but all 2 are zero"),
        (lambda: Cyclic([]), "laws takes at least one law, but none came"),
        (lambda: Cyclic(["uniform"]), r"laws takes participation laws, but laws\[0\]='uniform' came"),
        (lambda: Cyclic([uniform(3, 1), uniform(4, 1)]), r"laws\[0\] has 3 clients and laws\[1\] has 4; give"),
        (lambda: Cyclic([uniform(3, 1)], [1, 2]), "each of 1 laws, but 2 came"),
        (lambda: Cyclic([uniform(3, 1)], 0), "rounds_each takes an integer >= 1, but 0 came"),
        (lambda: Cyclic.of_groups([[0, 1], [2]], 2), "at most the 1 clients whose prior is > 0, but 2 came"),
        (lambda: Cyclic.of_groups([[0], []], 1), r"groups\[1\] takes at least one client, but it came empty"),
        (lambda: Cyclic.of_groups([], 1), "laws takes at least one law, but none came"),
        (lambda: Trace([]), "rounds takes at least one round, but none came"),
        (lambda: Trace([[0], []]), r"rounds\[1\] takes at least one client, but it came empty; leave it out"),
        (lambda: Trace([[0, 5]], clients=5), r"rounds\[0\] takes client ids 0 to 4, but 5 came"),
    ],
)
def test_constructors_refuse(construct, message):
    with pytest.raises(RecordError, match=message) as error:
        construct()
    assert "\n" not in str(error.value)
    assert ";" in str(error.value), "a message says what to do"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "should begin with the line 'round,client', but 'an empty file' came"),
        (b"0,1\n", "should begin with the line 'round,client', but '0,1' came"),
        (b"round,client\n0,1\n0,x\n", "line 3, should be two integers 'round,client', but '0,x' came"),
        (b"round,client\n0,1,2\n", "line 2, should be two integers 'round,client', but '0,1,2' came"),
        (b"\xff\xfe\x00", "is not UTF-8; export it as CSV"),
    ],
)
def test_damaged_trace_files_are_named(tmp_path, content, message):
    path = tmp_path / "trace.csv"
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match=message) as error:
        Trace.from_file(path)
    assert str(path) in str(error.value)


def test_trace_files_that_are_not_there_or_empty(tmp_path):
    with pytest.raises(MissingData, match=r"a trace was expected at .*absent\.csv, but there is no such file"):
        Trace.from_file(tmp_path / "absent.csv")
    header = tmp_path / "header.csv"
    header.write_text("round,client\n")
    with pytest.raises(RecordError, match="rounds takes at least one round, but none came"):
        Trace.from_file(header)


def test_refused_records_are_value_errors():
    with pytest.raises(ValueError, match="prior"):
        Weighted([-1], 1)
