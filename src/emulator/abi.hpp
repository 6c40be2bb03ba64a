#pragma once
#include <cstddef>
#include <cstdint>

#include "emulator/call_site.hpp"
#include "emulator/tensor_core.hpp"
#include "layout/fragment.hpp"
#include "layout/matrix_descriptor.hpp"

namespace lapidary {
struct TensorMap;
}

/// What kernels call on the emulated machine. These functions are compiled once, without instrumentation, and shared by
/// all builds of a kernel; each must be called by a running CUDA thread. `where` is the line that fault messages name.
namespace lapidary::emulator::abi {

struct Index3 {
  unsigned x, y, z;
};

// Constant as long as one CUDA thread runs, so that the compiler may keep the values in registers as nvcc does.
[[gnu::const]] Index3 thread_index();
[[gnu::const]] Index3 block_index();
[[gnu::const]] Index3 block_extent();
[[gnu::const]] Index3 grid_extent();

/// Dynamic shared memory of the block, aligned to 1024 bytes.
[[gnu::const]] void* dynamic_shared();
/// Whether this is the first call in this block: that thread sets up what shared memory needs.
bool first_in_block();
/// Makes `bytes` bytes of shared memory a red zone: any access is a fault in a checked run.
void red_zone(void* shared, unsigned bytes);

/// Waits until `threads` threads of the block, 0 for all that have not exited, are at barrier `id` (0 to 15).
void barrier_sync(unsigned id, unsigned threads, CallSite where);
/// Counts this warp's threads as having come to the barrier, without waiting.
void barrier_arrive(unsigned id, unsigned threads, CallSite where);
/// A barrier of all threads that also tells how many of them had a predicate that is not 0.
int barrier_count(int predicate, CallSite where);

/// The collective of a warp's lanes in `mask`; each gets what its operation defines.
enum class Shuffle : std::uint8_t { index, up, down, exclusive_or };
void sync_warp(std::uint32_t mask, CallSite where);
std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, Shuffle mode, int operand, int width, CallSite where);
/// The lanes whose predicate is not 0.
std::uint32_t ballot(std::uint32_t mask, int predicate, CallSite where);
/// The lanes in the mask that gave the same value.
std::uint32_t match(std::uint32_t mask, std::uint64_t value, CallSite where);
enum class Reduction : std::uint8_t { add, min, max, bit_and, bit_or, bit_xor };
std::uint32_t reduce(std::uint32_t mask, std::uint32_t value, Reduction operation, CallSite where);
/// The lanes of the warp that come to this place, as far as nothing that they wait for lies between.
std::uint32_t active_lanes(CallSite where);

/// Two numbers of 16 bits that are side by side.
template <class T>
struct alignas(2 * sizeof(T)) NumberPair {
  T x, y;
};

/// Atomic read-modify-write of global or shared memory; the old value. Defined for int, unsigned, unsigned long long,
/// and `add` and `exchange` for float and double too, `add` for f16, bf16 and pairs of them; `increment` and
/// `decrement` wrap at their operand. Compared and exchanged are integers, also those of 16 bits.
enum class Atomic : std::uint8_t { add, subtract, min, max, bit_and, bit_or, bit_xor, increment, decrement, exchange };
template <class T>
T atomic(Atomic operation, T* address, T value);
template <class T>
T atomic_compare_exchange(T* address, T expected, T desired);

/// __threadfence_block(), __threadfence() and __threadfence_system(): what the thread has seen to be written, those see
/// that are told by what it writes next by an atomic or volatile access.
enum class FenceScope : std::uint8_t { block, device };
void thread_fence(FenceScope scope);
/// __nanosleep: lets other threads go first.
void nanosleep();

/// __ldg: the bytes are read by a cache that is not told of what the kernel writes (PTX ISA, "ld.global.nc").
void check_read_only(const void* address, unsigned bytes);

/// cp.async (PTX ISA, "Data Movement and Conversion Instructions: cp.async"): copies `source_bytes` and fills up to
/// `bytes` with zeros, no sooner than it is issued and no later than the wait for its group.
void async_copy(void* shared, const void* global, unsigned bytes, unsigned source_bytes);
void async_commit_group();
/// Waits until at most `pending` of this thread's newest groups are not complete.
void async_wait_group(unsigned pending);

// What all 32 lanes of a warp execute together: it is a fault if some of them are elsewhere or have exited. A form
// lives as long as the program, and its address is what tells one instruction from another.

/// mma.sync: D = A * B + C, each lane's part in the registers' order (layout/fragment.hpp); d may be c.
void mma_sync(const TensorOperation& form, const void* a, const void* b, const void* c, void* d, CallSite where);

/// `count` (1, 2 or 4) matrices of 8 x 8 elements of 16 bits; lane 8 j + i gives the address of row i of matrix j, and
/// those of the other lanes do not count.
struct MatrixForm {
  int count;
  bool transposed;
};
void ldmatrix(const MatrixForm& form, std::uint32_t* d, const void* row, CallSite where);
void stmatrix(const MatrixForm& form, void* row, const std::uint32_t* a, CallSite where);

/// An operand of the WMMA API, in memory row by row or column by column. Its elements in a lane's registers are those
/// that wmma_element (layout/fragment.hpp) says, once each.
struct WmmaForm {
  WmmaOperand operand;
  Number number;
  int M, N, K;
  bool column_major;
};
/// `ld` counts elements. What is recorded is what ptxas 13.0 makes of it for sm_90a: loads and stores of 32 bits, of
/// two neighbours in memory, also where registers hold others (they are transposed there); of 64 or 32 bits for f32;
/// and of A and B in shared memory ldmatrix, if `ld` is a `constant` there.
void wmma_load(const WmmaForm& form, void* elements, const void* memory, unsigned ld, bool constant, CallSite where);
void wmma_store(const WmmaForm& form, const void* elements, void* memory, unsigned ld, CallSite where);
void wmma_multiply(const TensorOperation& form, const void* a, const void* b, const void* c, void* d, CallSite where);

/// wgmma of a warpgroup (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"): D = A * B + D, or A * B if not
/// `accumulate`, no sooner than all four warps have issued it and no later than the wait for its group. A is in
/// registers, or if `a` is null in shared memory as B is, where descriptors tell. D stays where it is until then.
struct WgmmaForm {
  TensorOperation operation;
  Major a_major, b_major;
  bool negate_a, negate_b;
};
void wgmma_mma_async(const WgmmaForm& form, void* d, const void* a, std::uint64_t a_descriptor,
                     std::uint64_t b_descriptor, bool accumulate, CallSite where);
/// The registers, if there are any, are such as products that follow have for A or D.
void wgmma_fence(const void* registers, std::size_t bytes, CallSite where);
void wgmma_commit_group(CallSite where);
/// Waits until at most `pending`, 0 to 7, of the warp's newest groups are not complete.
void wgmma_wait_group(unsigned pending, CallSite where);

// What compute capability 9.0 brings (PTX ISA). Addresses are those that kernels have of shared memory, of their own
// block or by map_shared_rank() of another one of the cluster.

/// mbarrier.init, .inval, .arrive, .expect_tx and .arrive.expect_tx: expects bytes first, then counts arrivals.
void mbarrier_init(void* barrier, unsigned arrivals, CallSite where);
void mbarrier_inval(void* barrier, CallSite where);
/// fence.mbarrier_init: bulk copies that are ordered after it find the barriers that this thread has initialised.
void fence_mbarrier_init();
void mbarrier_arrive(void* barrier, unsigned arrivals, unsigned bytes, CallSite where);
/// mbarrier.complete_tx.
void mbarrier_complete_tx(void* barrier, unsigned bytes, CallSite where);
/// mbarrier.try_wait.parity, and .test_wait.parity, which does not suspend: whether the phase of that parity, the
/// current one or the one before, is complete.
bool mbarrier_try_wait(void* barrier, unsigned parity, CallSite where);
bool mbarrier_test_wait(void* barrier, unsigned parity, CallSite where);

/// fence.proxy.async: bulk copies that are ordered after it see what this thread has written.
void fence_proxy_async();
/// griddepcontrol.wait: global memory may be accessed in a kernel whose launch overlaps with the one before.
void grid_wait();
/// Whether this lane is the one that elect.sync chooses among those in the mask.
bool elect(std::uint32_t mask, CallSite where);
/// setmaxnreg.inc or .dec: takes registers from those that warps of the block have given up, or gives some up.
void setmaxnreg(unsigned registers, bool increase, CallSite where);

/// cp.async.bulk.tensor to shared memory: of this block, or of those whose ranks are bits of `multicast`.
void bulk_tensor_load(void* shared, const TensorMap& map, const int* coordinates, void* barrier,
                      std::uint16_t multicast, CallSite where);
/// cp.async.bulk.tensor to global memory, and cp.reduce.async.bulk.tensor with .add.
void bulk_tensor_store(const TensorMap& map, const int* coordinates, const void* shared, bool add, CallSite where);
/// cp.async.bulk of bytes.
void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier, std::uint16_t multicast,
               CallSite where);
void bulk_store(void* global, const void* shared, unsigned bytes, CallSite where);
/// Refuses what is no tensor map, as cp.async.bulk.prefetch.tensor and prefetch.tensormap would.
void prefetch_tensor(const TensorMap& map, const int* coordinates, CallSite where);
void prefetch_tensor_map(const TensorMap& map, CallSite where);
void bulk_commit_group();
/// Waits until at most `pending` of this thread's newest bulk groups are not complete, or have not read their sources.
void bulk_wait_group(unsigned pending, bool read, CallSite where);

/// %cluster_ctaid, %cluster_nctaid, and the rank that counts both through, x fastest.
[[gnu::const]] Index3 cluster_block_index();
[[gnu::const]] Index3 cluster_extent();
[[gnu::const]] unsigned cluster_rank();
void cluster_arrive(bool releases, CallSite where);
void cluster_wait(CallSite where);
/// mapa: the address in another block's shared memory that corresponds to one of this block's.
void* map_shared_rank(const void* shared, unsigned rank, CallSite where);

/// a * b + c, rounded once, and counted as a fused multiply-add on the caller's line.
float counted_fma(float a, float b, float c);

/// The offset of an address within the block's shared memory. @throws a fault if it is not shared
std::uint32_t shared_offset(const void* address);

}  // namespace lapidary::emulator::abi
