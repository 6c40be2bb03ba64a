#pragma once
#include <cstdint>

#include "layout/tensor_map.hpp"
#include "ptx/call_site.hpp"
#include "ptx/cuda.hpp"
#include "ptx/mbarrier.hpp"

// Copies by the Tensor Memory Accelerator (PTX ISA, "cp.async.bulk", "cp.async.bulk.tensor", sm_90), which one thread
// issues. A load ends with its bytes on an mbarrier, and may be read by who has waited for it. Stores belong to bulk
// groups of the thread that issues them, and it alone can wait for them.
//
// Boxes lie at multiples of 128 bytes of the block's dynamic shared memory; of the swizzle's period, 8 times its span,
// if what reads them counts rows from there. Coordinates count elements, innermost first; they may be negative or
// beyond the tensor, where loads fill and stores write nothing. The innermost one is a multiple of 16 bytes.

namespace lapidary::inline LAPIDARY_BUILD {

/// How L2 is to treat what is read: CUTLASS's encodings of createpolicy's results.
enum class CachePolicy : std::uint64_t {
  evict_normal = 0x1000000000000000,
  evict_first = 0x12F0000000000000,
  evict_last = 0x14F0000000000000,
};

/// Where a box of a tensor of rank R begins.
template <int R>
struct Coordinates {
  static_assert(R >= 1 && R <= TensorBox::max_rank, "a tensor has 1 to 5 modes");
  int at[R];
};
template <class... Index>
Coordinates(Index...) -> Coordinates<static_cast<int>(sizeof...(Index))>;

#if defined(__CUDACC__)
// The instruction of each rank: `name`.Rd`kind` `before` {coordinates} `after`. Operands %0 to %4 are the coordinates,
// of which a rank names its own, %5 is the tensor map, and further ones follow.
#define LAPIDARY_BULK_TENSOR_OF_RANK(rank, list, name, kind, before, after, ...)                                   \
  if constexpr (R == rank)                                                                                         \
  asm volatile(name "." #rank "d" kind " " before list after ";" ::"r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), \
               "r"(at[4]), "l"(&map)__VA_OPT__(, ) __VA_ARGS__                                                     \
               : "memory")
#define LAPIDARY_BULK_TENSOR(name, kind, before, after, ...)                                   \
  int at[TensorBox::max_rank] = {};                                                            \
  for (int mode = 0; mode < R; ++mode) at[mode] = coordinates.at[mode];                        \
  LAPIDARY_BULK_TENSOR_OF_RANK(1, "{%0}", name, kind, before, after, __VA_ARGS__);             \
  LAPIDARY_BULK_TENSOR_OF_RANK(2, "{%0, %1}", name, kind, before, after, __VA_ARGS__);         \
  LAPIDARY_BULK_TENSOR_OF_RANK(3, "{%0, %1, %2}", name, kind, before, after, __VA_ARGS__);     \
  LAPIDARY_BULK_TENSOR_OF_RANK(4, "{%0, %1, %2, %3}", name, kind, before, after, __VA_ARGS__); \
  LAPIDARY_BULK_TENSOR_OF_RANK(5, "{%0, %1, %2, %3, %4}", name, kind, before, after, __VA_ARGS__)
#endif

/// cp.async.bulk.tensor, global to shared memory: the box at `coordinates`. Its bytes, box_bytes() of the tensor map's
/// TensorBox, are taken off those that `barrier` waits for.
template <int R>
LAPIDARY_DEVICE void cp_async_bulk_tensor_load(void* shared, const TensorMap& map, Coordinates<R> coordinates,
                                               Mbarrier& barrier, CachePolicy policy = CachePolicy::evict_normal,
                                               [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  LAPIDARY_BULK_TENSOR("cp.async.bulk.tensor", ".shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint",
                       "[%6], [%5, ", "], [%7], %8", "r"(shared_address(shared)), "r"(shared_address(&barrier)),
                       "l"(policy));
#else
  static_cast<void>(policy);
  emulator::abi::bulk_tensor_load(shared, map, coordinates.at, &barrier, 0, where);
#endif
}

/// The same to the blocks of the cluster whose ranks are bits of `blocks`: to the same place in the shared memory of
/// each, and the bytes to the barrier at the same place.
template <int R>
LAPIDARY_DEVICE void cp_async_bulk_tensor_multicast(void* shared, const TensorMap& map, Coordinates<R> coordinates,
                                                    Mbarrier& barrier, std::uint16_t blocks,
                                                    CachePolicy policy = CachePolicy::evict_normal,
                                                    [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  LAPIDARY_BULK_TENSOR("cp.async.bulk.tensor",
                       ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint",
                       "[%6], [%5, ", "], [%7], %8, %9", "r"(shared_address(shared)), "r"(shared_address(&barrier)),
                       "h"(blocks), "l"(policy));
#else
  static_cast<void>(policy);
  emulator::abi::bulk_tensor_load(shared, map, coordinates.at, &barrier, blocks, where);
#endif
}

/// cp.async.bulk.tensor, shared to global memory. Of a row that ends within a chunk of 16 bytes, the whole chunk is
/// written: what follows the tensor's rows in memory stays as it is only if these are multiples of 16 bytes. Other
/// threads' writes to the box come before a fence_proxy_async() of theirs and a barrier.
template <int R>
LAPIDARY_DEVICE void cp_async_bulk_tensor_store(const TensorMap& map, Coordinates<R> coordinates, const void* shared,
                                                [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  LAPIDARY_BULK_TENSOR("cp.async.bulk.tensor", ".global.shared::cta.bulk_group", "[%5, ", "], [%6]",
                       "r"(shared_address(shared)));
#else
  emulator::abi::bulk_tensor_store(map, coordinates.at, shared, false, where);
#endif
}

/// cp.reduce.async.bulk.tensor with .add: adds the box to the tensor, element by element.
template <int R>
LAPIDARY_DEVICE void cp_reduce_async_bulk_tensor_add(
    const TensorMap& map, Coordinates<R> coordinates, const void* shared,
    [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  LAPIDARY_BULK_TENSOR("cp.reduce.async.bulk.tensor", ".global.shared::cta.add.tile.bulk_group", "[%5, ", "], [%6]",
                       "r"(shared_address(shared)));
#else
  emulator::abi::bulk_tensor_store(map, coordinates.at, shared, true, where);
#endif
}

/// cp.async.bulk.prefetch.tensor: brings the box to L2.
template <int R>
LAPIDARY_DEVICE void cp_async_bulk_prefetch_tensor(const TensorMap& map, Coordinates<R> coordinates,
                                                   [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  LAPIDARY_BULK_TENSOR("cp.async.bulk.prefetch.tensor", ".L2.global", "[%5, ", "]");
#else
  emulator::abi::prefetch_tensor(map, coordinates.at, where);
#endif
}

#if defined(__CUDACC__)
#undef LAPIDARY_BULK_TENSOR
#undef LAPIDARY_BULK_TENSOR_OF_RANK
#endif

/// prefetch.tensormap: brings the map itself near, before its first use.
LAPIDARY_DEVICE void prefetch_tensormap(const TensorMap& map,
                                        [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#else
  emulator::abi::prefetch_tensor_map(map, where);
#endif
}

/// cp.async.bulk, global to shared memory: `bytes` bytes, a multiple of 16, as are both addresses.
LAPIDARY_DEVICE void cp_async_bulk_load(void* shared, const void* global, unsigned bytes, Mbarrier& barrier,
                                        [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(shared)),
               "l"(global), "r"(bytes), "r"(shared_address(&barrier))
               : "memory");
#else
  emulator::abi::bulk_load(shared, global, bytes, &barrier, 0, where);
#endif
}

/// cp.async.bulk, shared to global memory.
LAPIDARY_DEVICE void cp_async_bulk_store(void* global, const void* shared, unsigned bytes,
                                         [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(shared_address(shared)),
               "r"(bytes)
               : "memory");
#else
  emulator::abi::bulk_store(global, shared, bytes, where);
#endif
}

/// cp.async.bulk.commit_group: this thread's stores since the last commit become one bulk group.
LAPIDARY_DEVICE void cp_async_bulk_commit_group() {
#if defined(__CUDACC__)
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#else
  emulator::abi::bulk_commit_group();
#endif
}

/// cp.async.bulk.wait_group: waits until at most `pending` of this thread's newest bulk groups have not written all.
template <int pending>
LAPIDARY_DEVICE void cp_async_bulk_wait_group([[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
#else
  emulator::abi::bulk_wait_group(pending, false, where);
#endif
}

/// cp.async.bulk.wait_group.read: ... have not read all of their sources, which may be written again.
template <int pending>
LAPIDARY_DEVICE void cp_async_bulk_wait_group_read([[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
#else
  emulator::abi::bulk_wait_group(pending, true, where);
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
