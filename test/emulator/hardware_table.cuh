#pragma once
// Kernels of the table of what hardware does, hardware_table_test.cpp. The same for all builds.
#include "device/shared.hpp"
#include "hardware_table.hpp"
#include "ptx/barrier.hpp"
#include "ptx/cluster.hpp"
#include "ptx/cp_async_bulk.hpp"
#include "ptx/fence.hpp"
#include "ptx/mbarrier.hpp"
#include "register.hpp"
#include "tile/pipeline.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

// ---------------------------------------------------------------- one access of a warp

struct AccessStorage {
  SharedArray<unsigned char, access_bytes, 1024> bytes;
};

/// Each lane that has a place loads or stores an element there. Nothing else is loaded from or stored to that memory by
/// such an instruction.
template <class Element, bool shared, bool store>
__global__ void access(const __grid_constant__ Places places, Element* data, Element* out) {
  Element* const s = reinterpret_cast<Element*>(&shared_storage<AccessStorage>().bytes[0]);
  const int place = places.of_lane[threadIdx.x];
  if constexpr (shared && !store)
    for (int i = threadIdx.x; i < static_cast<int>(access_bytes / sizeof(Element)); i += 32) s[i] = Element{};
  __syncthreads();
  if (place >= 0) {
    if constexpr (store)
      (shared ? s[place] : data[place]) = Element{};
    else
      out[threadIdx.x] = shared ? s[place] : data[place];
  }
  __syncthreads();
  // Never, which a compiler does not know: it must keep the stores.
  if (shared && store && place == -2) out[threadIdx.x] = s[threadIdx.x];
}

template <class Element, bool shared, bool store>
void launch_access(const Stream& stream, const LaunchShape& shape, void* a, void* b, void* c, int) {
  launch(stream, shape, access<Element, shared, store>, *static_cast<const Places*>(a), static_cast<Element*>(b),
         static_cast<Element*>(c));
}

// ---------------------------------------------------------------- lanes that are not there

/// b: the lower half of a warp reverses its elements of a, the upper half rotates its own by one.
__global__ void shuffles_of_halves(int* a, int* b, int*, int) {
  const int lane = threadIdx.x;
  if (lane < 16)
    b[lane] = __shfl_xor_sync(0x0000ffffu, a[lane], 15);
  else
    b[lane] = __shfl_sync(0xffff0000u, a[lane], 16 + (lane + 1) % 16);
}

/// Lanes 20 to 31 return; all the others name them in their masks. b: the ballot, and what lane + 1 has.
__global__ void collectives_after_exits(int* a, int* b, int*, int) {
  __shared__ int s[20];
  const int lane = threadIdx.x;
  if (lane >= 20) return;
  b[lane] = static_cast<int>(__ballot_sync(0xffffffffu, lane % 2 == 0));
  s[lane] = __shfl_sync(0xffffffffu, a[lane], (lane + 1) % 20);
  __syncwarp();
  b[20 + lane] = s[19 - lane];
}

/// b: what each lane has of lane n, in halves of a warp that shuffle apart.
__global__ void shuffles_across_masks(int* a, int* b, int*, int n) {
  const int lane = threadIdx.x;
  b[lane] = lane < 16 ? __shfl_sync(0x0000ffffu, a[lane], n) : __shfl_sync(0xffff0000u, a[lane], 16);
}

// ---------------------------------------------------------------- lanes that take different paths

/// b: what the lower half of a warp hands over to the upper half; each comes to a __syncwarp of its own.
__global__ void meeting_of_branches(int* a, int* b, int*, int) {
  __shared__ int s[16];
  const int lane = threadIdx.x;
  if (lane < 16) {
    s[lane] = a[lane];
    __syncwarp();
  } else {
    __syncwarp();
    b[lane - 16] = s[31 - lane];
  }
}

/// b: the ballots of both sides of a branch, which are one.
__global__ void vote_of_branches(int*, int* b, int*, int) {
  const int lane = threadIdx.x;
  if (lane % 2 == 0)
    b[lane] = static_cast<int>(__ballot_sync(0xffffffffu, lane < 8));
  else
    b[lane] = static_cast<int>(__ballot_sync(0xffffffffu, lane > 24));
}

/// b: rounds of a loop, of which lane l has l % 5; then all vote.
__global__ void rounds(int*, int* b, int*, int) {
  const int lane = threadIdx.x;
  int count = 0;
  for (int i = 0; i < lane % 5; ++i) ++count;
  __syncwarp();
  b[lane] = count + 8 * __all_sync(0xffffffffu, count == lane % 5);
}

// ---------------------------------------------------------------- barriers

/// b: whether phases of an mbarrier with three arrivals are complete, of parity 0 and, times 2, of parity 1.
__global__ void arrivals(int*, int* b, int*, int) {
  __shared__ Mbarrier barrier;
  if (threadIdx.x > 0) return;
  const auto look = [&] { return mbarrier_test_wait(barrier, 0) | mbarrier_test_wait(barrier, 1) << 1; };
  mbarrier_init(barrier, 3);
  b[0] = look();
  mbarrier_arrive(barrier);
  mbarrier_arrive(barrier);
  b[1] = look();
  mbarrier_arrive(barrier);
  b[2] = look();
  mbarrier_arrive(barrier, 2);
  b[3] = look();
  mbarrier_arrive(barrier);
  b[4] = look();
  mbarrier_arrive(barrier, 3);
  b[5] = look();
  mbarrier_inval(barrier);
}

struct LastBytesStorage {
  SharedArray<int, 4, 16> data;
  SharedArray<Mbarrier, 1> barrier;
};

/// b: the last 16 bytes of a's n elements, copied in bulk before the barrier expects them.
__global__ void bytes_before_they_are_expected(int* a, int* b, int*, int n) {
  auto& [data, barrier] = shared_storage<LastBytesStorage>();
  if (threadIdx.x == 0) {
    mbarrier_init(barrier[0], 1);
    fence_mbarrier_init();
    cp_async_bulk_load(&data[0], a + n - 4, 16, barrier[0]);
    mbarrier_arrive_expect_tx(barrier[0], 16);
  }
  __syncthreads();
  wait(barrier[0], 0);
  if (threadIdx.x < 4) b[threadIdx.x] = data[threadIdx.x];
}

// ---------------------------------------------------------------- clusters

/// b: 1 from each thread of block 0, which waits for the cluster. Block 1 has left it.
__global__ void barrier_of_those_left(int*, int* b, int*, int) {
  if (cluster_ctarank() == 1) return;
  barrier_cluster_arrive();
  barrier_cluster_wait();
  b[threadIdx.x] = 1;
}

#define LAPIDARY_ACCESSES(Element, bytes)                                                                   \
  {{"global load " #bytes, 1, 32, sizeof(AccessStorage)}, launch_access<Element, false, false>, 0, 0},      \
      {{"global store " #bytes, 1, 32, sizeof(AccessStorage)}, launch_access<Element, false, true>, 0, 0},  \
      {{"shared load " #bytes, 1, 32, sizeof(AccessStorage)}, launch_access<Element, true, false>, 0, 0}, { \
    {"shared store " #bytes, 1, 32, sizeof(AccessStorage)}, launch_access<Element, true, true>, 0, 0        \
  }

constexpr TestKernel hardware_table[] = {
    LAPIDARY_ACCESSES(unsigned char, 1),
    LAPIDARY_ACCESSES(unsigned short, 2),
    LAPIDARY_ACCESSES(unsigned, 4),
    LAPIDARY_ACCESSES(uint2, 8),
    LAPIDARY_ACCESSES(uint4, 16),
    entry<shuffles_of_halves>("shuffles_of_halves", 1, 32),
    entry<collectives_after_exits>("collectives_after_exits", 1, 32),
    entry<shuffles_across_masks>("shuffles_across_masks", 1, 32),
    entry<meeting_of_branches>("meeting_of_branches", 1, 32),
    entry<vote_of_branches>("vote_of_branches", 1, 32),
    entry<rounds>("rounds", 1, 32),
    entry<arrivals>("arrivals", 1, 32),
    entry<bytes_before_they_are_expected>("bytes_before_they_are_expected", 1, 32, sizeof(LastBytesStorage)),
    {{"barrier_of_those_left", 2, 32, 0, 2}, Launch<barrier_of_those_left>::launch, 0, 0},
};

TestKernels hardware_kernels() { return {hardware_table, std::size(hardware_table)}; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
