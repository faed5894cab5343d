"""Parquet files that ended the process, or that say too little of what they hold."""

import base64
import zlib
from pathlib import Path

import pytest

from pfedgp_core.data.own.reader import read_samples
from pfedgp_core.errors import DataError

# Input 4152 of seed 11 of scripts/fuzz_files.py: the second column's count of levels does not fit its kind.
LEVELS = (
    "c-oaz&rcIk5T5<Xwzg(5zV&U=Ll5l+BOss<V@l|2X@OXjHWnf$%i2^DptUVDaw48QaWuw10k0m6;o!l4!K*h9-n@7*#yIn~ErF^@C!IHMXWo3@"
    "H*Ysx6QyaUvyTdE7Z_)71>iA2Q~@Pwfr_r7>*xl$i9UjEp@*VYDhz>LlI!pt01Q~1CB~82W+pRZ-0D@h)!l#tV}Hqxj^bjcR7xtkVb44~c>MtZ"
    "<t#6h^TU)4MgP2Dj9BHb3!!W9J!(gOEWABY6!;nCI;2CkuBJm%x`7L7<%w{*EG?QIRM@NZwH%Sc!R)^k##p?7f%ILztzq4-v?)BP*O2Zi<7aep"
    "Fs5OeYj{Kgh7$pxVw{AT?iOZ&n=Suob+^Jy#7?SQtJJE%!by!=jb^pg+Hc}x1PjJaWvjZAghGsNmAf%F<v|QVX2G;w*~e6eJHJ%to$9?&JZrf3"
    ";f~W#Or^JKV@O>$T@N@Gi6-2o>5GzFzg6dx>V46?Q+2qj{XbcxOBReQnT{3bmExTm-jQ+fRtK=0Ww(dsyc}`3XF10vxG^3PrP70qyTOI?_v%fu"
    "8-lDT0=p+fM`UUuFGNjbYciL~2(e0=tPm?QaTY~T%G{yd{XSH-M$odiB$NKxd1-lCwwChSn;RY4=BQ8BR}Zn1;Bt$(E@@Ej8Hvht{N43K|JM5R"
    "O{7D;sOJ&I-Vp>VQtJ{?FLufMAjK6q@AA3P1&xj!`8~v3p@*zI(gP(#viW)7@kXWjY`@x`@EeVZO0!w-#1E>?)^>d_J~KBtH9763@G}j5@D0ED"
    "HT<Xg1D}e=F#"
)


def test_levels_that_do_not_fit_are_damage_and_end_no_process(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", minversion="19")  # former ones do not look at these counts
    (tmp_path / "a.parquet").write_bytes(zlib.decompress(base64.b85decode("".join(LEVELS))))
    with pytest.raises(DataError, match=r"a\.parquet cannot be read as Parquet \(.*mismatch"):
        read_samples(tmp_path / "a.parquet")


def test_a_column_of_lists_is_refused_before_it_is_read(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"a": [1.0], "many": [[1.0] * 1000], "label": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="its column 'many' holds lists"):
        read_samples(tmp_path / "a.parquet")
