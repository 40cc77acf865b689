"""How many values each instruction takes from the stack.

`dis.stack_effect` tells only the difference. An instruction that leaves its operands where they are (`FOR_ITER`, `COPY`) takes
none here, and what lies above afterwards counts as pushed.
"""

from __future__ import annotations

from collections.abc import Callable
from opcode import opname

Pops = int | Callable[[int], int]


def _bits(arg: int) -> int:
    return bin(arg & 15).count("1")


_POPS: dict[str, Pops] = {
    "POP_TOP": 1, "END_FOR": 2, "END_SEND": 2, "TO_BOOL": 1, "GET_LEN": 0, "MATCH_CLASS": 3, "MATCH_KEYS": 0,
    "MATCH_MAPPING": 0, "MATCH_SEQUENCE": 0, "LOAD_ATTR": 1, "LOAD_METHOD": 1, "LOAD_SUPER_ATTR": 3,
    "LOAD_FROM_DICT_OR_GLOBALS": 1, "LOAD_FROM_DICT_OR_DEREF": 1, "STORE_FAST": 1, "STORE_FAST_MAYBE_NULL": 1,
    "STORE_FAST_LOAD_FAST": 1, "STORE_FAST_STORE_FAST": 2, "STORE_NAME": 1, "STORE_GLOBAL": 1, "STORE_DEREF": 1,
    "STORE_ATTR": 2, "STORE_SUBSCR": 3, "STORE_SLICE": 4, "DELETE_SUBSCR": 2, "DELETE_ATTR": 1, "BINARY_OP": 2,
    "BINARY_SUBSCR": 2, "BINARY_SLICE": 3, "COMPARE_OP": 2, "IS_OP": 2, "CONTAINS_OP": 2, "UNARY_NOT": 1,
    "UNARY_NEGATIVE": 1, "UNARY_POSITIVE": 1, "UNARY_INVERT": 1, "BUILD_TUPLE": lambda arg: arg,
    "BUILD_LIST": lambda arg: arg, "BUILD_SET": lambda arg: arg, "BUILD_STRING": lambda arg: arg,
    "BUILD_SLICE": lambda arg: arg, "BUILD_MAP": lambda arg: 2 * arg, "BUILD_CONST_KEY_MAP": lambda arg: arg + 1,
    "FORMAT_VALUE": lambda arg: 2 if arg & 4 else 1, "FORMAT_SIMPLE": 1, "FORMAT_WITH_SPEC": 2, "CONVERT_VALUE": 1,
    "LIST_APPEND": 1, "SET_ADD": 1, "MAP_ADD": 2, "LIST_EXTEND": 1, "SET_UPDATE": 1, "DICT_UPDATE": 1,
    "DICT_MERGE": 1, "LIST_TO_TUPLE": 1, "UNPACK_SEQUENCE": 1, "UNPACK_EX": 1, "CALL": lambda arg: arg + 2,
    "CALL_KW": lambda arg: arg + 3, "CALL_FUNCTION_EX": lambda arg: 3 + (arg & 1), "CALL_INTRINSIC_1": 1,
    "CALL_INTRINSIC_2": 2, "MAKE_FUNCTION": lambda arg: 1 + _bits(arg), "SET_FUNCTION_ATTRIBUTE": 2, "GET_ITER": 1,
    "GET_AITER": 1, "GET_ANEXT": 0, "GET_YIELD_FROM_ITER": 1, "GET_AWAITABLE": 1, "RETURN_VALUE": 1, "YIELD_VALUE": 1,
    "ASYNC_GEN_WRAP": 1, "IMPORT_NAME": 2, "IMPORT_FROM": 0, "IMPORT_STAR": 1, "PRINT_EXPR": 1, "BEFORE_WITH": 1,
    "BEFORE_ASYNC_WITH": 1, "WITH_EXCEPT_START": 0, "RAISE_VARARGS": lambda arg: arg, "RERAISE": 1,
    "PREP_RERAISE_STAR": 2, "PUSH_EXC_INFO": 1, "POP_EXCEPT": 1, "CHECK_EXC_MATCH": 1, "CHECK_EG_MATCH": 2,
    "END_ASYNC_FOR": 2, "CLEANUP_THROW": 3, "SEND": 1, "FOR_ITER": 0, "EXIT_INIT_CHECK": 1,
}  # fmt: skip
_POPS |= {name: 1 for name in opname if name.startswith("POP_JUMP")}


def pops(name: str, arg: int) -> int:
    """Return how many values an instruction takes."""
    found = _POPS.get(name, 0)
    return found if isinstance(found, int) else found(max(arg, 0))
