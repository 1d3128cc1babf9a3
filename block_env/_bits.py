"""Sets of tiles as words: what a processor does in one instruction and Numba has no function for.

Each has a plain Python twin for ``NUMBA_DISABLE_JIT=1``. Kernels in other files call these; they are instructions, not
rules, and do not change.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import config, types
from numba.extending import intrinsic

from block_env._compile import Array, Int, Word, inlined

LANES = 8
"""How many numbers ``write_flags`` writes and ``read_flags`` reads."""


def _count_ones(word: Word) -> Int:
    """How many bits are set."""
    return int(word).bit_count()


def _write_flags(out: Array, at: Int, word: Word) -> None:
    """Write the lowest eight bits, lowest first, as numbers into ``out`` (1-D) from ``at`` on."""
    for lane in range(LANES):
        out[at + lane] = int(word) >> lane & 1


def _lowest_one(word: Word) -> Int:
    """The place of the lowest bit that is set; the word is not 0."""
    return (int(word) & -int(word)).bit_length() - 1


def _read_flags(array: Array, at: Int) -> Word:
    """Of the eight numbers of an array (1-D) from ``at`` on: which are not 0, as the lowest eight bits."""
    flags = sum(int(array[at + lane] != 0) << lane for lane in range(LANES))
    return np.uint64(flags)


def _multiply_high(one: Word, other: Word) -> Word:
    """The upper 64 of the 128 bits of a product."""
    return np.uint64(int(one) * int(other) >> 64)


def _multiply_low(one: Word, other: Word) -> Word:
    """The lower 64 of the 128 bits of a product."""
    return np.uint64(int(one) * int(other) & 2**64 - 1)


def _pointer(address: Int) -> Any:
    """The address as what ``numba.carray`` takes."""
    return ctypes.c_void_p(int(address))


if config.DISABLE_JIT:  # type: ignore[attr-defined]
    pointer = _pointer
    count_ones, lowest_one, multiply_high, multiply_low = _count_ones, _lowest_one, _multiply_high, _multiply_low
    write_flags, read_flags = _write_flags, _read_flags
else:

    @intrinsic
    def count_ones(typing_context: Any, word: Any) -> Any:
        """How many bits are set."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic
    def write_flags(typing_context: Any, out: Any, at: Any, word: Any) -> Any:
        """Write the lowest eight bits, lowest first, as numbers into ``out`` (1-D) from ``at`` on, in one go."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            item = context.get_data_type(signature.args[0].dtype)
            byte = ir.IntType(8)
            lanes, bytes_ = ir.VectorType(item, LANES), ir.VectorType(byte, LANES)
            spread = ir.Constant(bytes_, ir.Undefined)
            spread = builder.insert_element(spread, builder.trunc(arguments[2], byte), ir.Constant(ir.IntType(32), 0))
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            spread = builder.shuffle_vector(spread, ir.Constant(bytes_, ir.Undefined), zeros)
            ones = builder.and_(spread, ir.Constant(bytes_, [1 << lane for lane in range(LANES)]))
            flags = builder.icmp_unsigned("!=", ones, ir.Constant(bytes_, [0] * LANES))
            value = builder.select(flags, ir.Constant(lanes, [1] * LANES), ir.Constant(lanes, [0] * LANES))
            pointer = builder.gep(array.data, [arguments[1]])
            place = builder.bitcast(pointer, lanes.as_pointer())
            builder.store(value, place, align=1)
            return context.get_dummy_value()

        return types.void(out, types.uint64, types.uint64), generate

    @intrinsic
    def lowest_one(typing_context: Any, word: Any) -> Any:
        """The place of the lowest bit that is set; the word is not 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.uint64), generate

    @intrinsic
    def read_flags(typing_context: Any, array: Any, at: Any) -> Any:
        """Of the eight numbers of an array (1-D) from ``at`` on: which are not 0, as the lowest eight bits."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            struct = context.make_array(signature.args[0])(context, builder, arguments[0])
            item = context.get_data_type(signature.args[0].dtype)
            lanes = ir.VectorType(item, LANES)
            place = builder.bitcast(builder.gep(struct.data, [arguments[1]]), lanes.as_pointer())
            values, none = builder.load(place, align=1), ir.Constant(lanes, [0] * LANES)
            compare = builder.fcmp_unordered if isinstance(item, ir.FloatType) else builder.icmp_unsigned
            flags = builder.bitcast(compare("!=", values, none), ir.IntType(LANES))
            return builder.zext(flags, ir.IntType(64))

        return types.uint64(array, types.uint64), generate

    @intrinsic
    def multiply_high(typing_context: Any, one: Any, other: Any) -> Any:
        """The upper 64 of the 128 bits of a product."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            wide = ir.IntType(128)
            product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
            return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

        return types.uint64(types.uint64, types.uint64), generate

    @intrinsic
    def multiply_low(typing_context: Any, one: Any, other: Any) -> Any:
        """The lower 64 of the 128 bits of a product."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.mul(*arguments)

        return types.uint64(types.uint64, types.uint64), generate

    @intrinsic
    def pointer(typing_context: Any, address: Any) -> Any:
        """The address as what ``numba.carray`` takes."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

        return types.voidptr(types.uint64), generate


@inlined
def read_bits(array: Array, at: Int, count: Int) -> Word:
    """Of ``count`` (up to 64) numbers of an array (1-D) from ``at`` on: which are not 0, as bits, lowest first."""
    bits, whole = np.uint64(0), count // LANES
    for byte in range(whole):
        bits |= read_flags(array, np.uint64(at + LANES * byte)) << np.uint64(LANES * byte)
    for place in range(LANES * whole, count):
        bits |= np.uint64(array[at + place] != 0) << np.uint64(place)
    return bits
