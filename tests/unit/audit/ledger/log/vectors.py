"""Published test vectors of Merkle trees: those of certificate-transparency-go and Trillian.

They are in transparency-dev/merkle (`testonly/constants.go`, `testonly/reference_test.go`) and in
the C++ tests of certificate-transparency (`merkle_tree_test.cc`), which RFC 9162's trees equal.
"""

from typing import Final

LEAVES: Final = tuple(
    bytes.fromhex(each)
    for each in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
)

ROOTS: Final = tuple(
    bytes.fromhex(each)
    for each in (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    )
)
"""Of the first none, one, two … of LEAVES."""

_A = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
_AB = "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
_ABCD = "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"
_B = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
_CD = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
_E = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
_EF = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"
_EFGH = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
_GH = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"

INCLUSION: Final = (
    (0, 1, ()),
    (0, 8, (_B, _CD, _EFGH)),
    (5, 8, (_E, _GH, _ABCD)),
    (2, 3, (_AB,)),
    (1, 5, (_A, _CD, _E)),
)
"""The leaf, the size of the tree, and the proof."""

CONSISTENCY: Final = (
    (1, 1, ()),
    (1, 8, (_B, _CD, _EFGH)),
    (6, 8, (_EF, _GH, _ABCD)),
    (2, 5, (_CD, _E)),
)
"""The size of the tree, of the later one, and the proof."""
