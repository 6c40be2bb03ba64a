#pragma once
#include "ptx/call_site.hpp"
#include "ptx/cuda.hpp"

// Blocks that run at the same time and reach each other's shared memory (PTX ISA, "barrier.cluster", "mapa", sm_90). A
// launch makes clusters by LaunchShape::cluster.

namespace lapidary::inline LAPIDARY_BUILD {

/// %cluster_ctarank: which block of its cluster this one is.
LAPIDARY_DEVICE unsigned cluster_ctarank() {
#if defined(__CUDACC__)
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#else
  return emulator::abi::cluster_rank();
#endif
}

/// %cluster_nctarank: the blocks of a cluster.
LAPIDARY_DEVICE unsigned cluster_nctarank() {
#if defined(__CUDACC__)
  unsigned blocks;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return blocks;
#else
  const auto extent = emulator::abi::cluster_extent();
  return extent.x * extent.y * extent.z;
#endif
}

/// %cluster_ctaid: the block's coordinates in its cluster.
LAPIDARY_DEVICE dim3 cluster_ctaid() {
#if defined(__CUDACC__)
  dim3 id;
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(id.x));
  asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(id.y));
  asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(id.z));
  return id;
#else
  const auto id = emulator::abi::cluster_block_index();
  return dim3(id.x, id.y, id.z);
#endif
}

/// barrier.cluster.arrive: comes to the barrier of all threads of the cluster, and does not wait. What the thread did
/// before is seen by those who wait. All lanes of a warp call it together.
LAPIDARY_DEVICE void barrier_cluster_arrive([[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#else
  emulator::abi::cluster_arrive(true, where);
#endif
}

/// barrier.cluster.arrive.relaxed: the same of a thread that has nothing to hand on but mbarriers, which it has fenced
/// by fence_mbarrier_init(). Behind a release all that the thread has written is waited for.
LAPIDARY_DEVICE void barrier_cluster_arrive_relaxed([[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#else
  emulator::abi::cluster_arrive(false, where);
#endif
}

/// barrier.cluster.wait: after each arrival, until all threads that have not exited have arrived.
LAPIDARY_DEVICE void barrier_cluster_wait([[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  emulator::abi::cluster_wait(where);
#endif
}

/// mapa: what `shared` points to in this block, in the block `rank` of the cluster; for ordinary loads, stores and
/// atomic operations. That block must have begun, and must not have exited: barriers of the cluster tell.
template <class T>
LAPIDARY_DEVICE T* mapa(T* shared, unsigned rank, [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  T* mapped;
  asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(shared), "r"(rank));
  return mapped;
#else
  return static_cast<T*>(emulator::abi::map_shared_rank(shared, rank, where));
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
