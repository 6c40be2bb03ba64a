#pragma once
#include <cstdint>

#include "ptx/call_site.hpp"
#include "ptx/cuda.hpp"
#include "ptx/shared_address.hpp"

// Barriers in shared memory that count arrivals of threads and bytes of bulk copies (PTX ISA, "mbarrier", sm_90). A
// phase is complete when neither arrivals nor bytes are pending; the next one begins with all arrivals pending. Phases
// are told apart by their parity: the first one has parity 0, and a wait for parity 1 passes until it is complete.

namespace lapidary::inline LAPIDARY_BUILD {

/// 64 bits that only the functions below may touch.
struct alignas(8) Mbarrier {
  std::uint64_t state;
};

/// mbarrier.init: `arrivals`, 1 to 2^20 - 1, end each phase. Others may use it after fence_mbarrier_init() and a
/// barrier.
LAPIDARY_DEVICE void mbarrier_init(Mbarrier& barrier, unsigned arrivals,
                                   [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
#else
  emulator::abi::mbarrier_init(&barrier, arrivals, where);
#endif
}

/// mbarrier.inval: nobody waits any more; the memory may be used for something else.
LAPIDARY_DEVICE void mbarrier_inval(Mbarrier& barrier,
                                    [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(&barrier)) : "memory");
#else
  emulator::abi::mbarrier_inval(&barrier, where);
#endif
}

/// fence.mbarrier_init: makes this thread's initialisations known to bulk copies and to the cluster, by the barrier
/// that follows.
LAPIDARY_DEVICE void fence_mbarrier_init() {
#if defined(__CUDACC__)
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#else
  emulator::abi::fence_mbarrier_init();
#endif
}

/// mbarrier.arrive: what this thread did before is seen by those who wait for the phase.
LAPIDARY_DEVICE void mbarrier_arrive(Mbarrier& barrier, unsigned arrivals = 1,
                                     [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals)
               : "memory");
#else
  emulator::abi::mbarrier_arrive(&barrier, arrivals, 0, where);
#endif
}

/// mbarrier.arrive on the barrier at the same place in the shared memory of block `rank` of the cluster.
/// @param ordered  what this thread did before is seen by those who wait there with mbarrier_try_wait<true>(), which
///                 takes two memory barriers; without it, complete asynchronous copies and products alone are ordered
template <bool ordered = true>
LAPIDARY_DEVICE void mbarrier_arrive_cluster(Mbarrier& barrier, unsigned rank, unsigned arrivals = 1,
                                             [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  if constexpr (ordered)
    asm volatile(
        "{\n"
        ".reg .b32 remote;\n"
        "mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote], %2;\n"
        "}" ::"r"(shared_address(&barrier)),
        "r"(rank), "r"(arrivals)
        : "memory");
  else
    asm volatile(
        "{\n"
        ".reg .b32 remote;\n"
        "mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [remote], %2;\n"
        "}" ::"r"(shared_address(&barrier)),
        "r"(rank), "r"(arrivals)
        : "memory");
#else
  emulator::abi::mbarrier_arrive(emulator::abi::map_shared_rank(&barrier, rank, where), arrivals, 0, where);
#endif
}

/// mbarrier.expect_tx: the phase waits for so many bytes more.
LAPIDARY_DEVICE void mbarrier_expect_tx(Mbarrier& barrier, unsigned bytes,
                                        [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
               : "memory");
#else
  emulator::abi::mbarrier_arrive(&barrier, 0, bytes, where);
#endif
}

/// mbarrier.complete_tx on the barrier at the same place in the shared memory of block `rank` of the cluster: the phase
/// waits for so many bytes less, as if a bulk copy had brought them. What this thread did before is not ordered.
LAPIDARY_DEVICE void mbarrier_complete_tx(Mbarrier& barrier, unsigned rank, unsigned bytes,
                                          [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [remote], %2;\n"
      "}" ::"r"(shared_address(&barrier)),
      "r"(rank), "r"(bytes)
      : "memory");
#else
  emulator::abi::mbarrier_complete_tx(emulator::abi::map_shared_rank(&barrier, rank, where), bytes, where);
#endif
}

/// mbarrier.arrive.expect_tx: the same, then one arrival.
LAPIDARY_DEVICE void mbarrier_arrive_expect_tx(Mbarrier& barrier, unsigned bytes,
                                               [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
               "r"(bytes)
               : "memory");
#else
  emulator::abi::mbarrier_arrive(&barrier, 1, bytes, where);
#endif
}

/// mbarrier.try_wait.parity: whether the phase of this parity, the current one or the one before, is complete. Suspends
/// the thread for a time that the machine chooses. The barrier is one of the own block.
/// @param cluster  what threads of other blocks did before they arrived is to be seen too
template <bool cluster = false>
LAPIDARY_DEVICE bool mbarrier_try_wait(Mbarrier& barrier, unsigned parity,
                                       [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  unsigned complete;
  if constexpr (cluster)
    asm volatile(
        "{\n"
        ".reg .pred complete;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [%1], %2;\n"
        "selp.u32 %0, 1, 0, complete;\n"
        "}"
        : "=r"(complete)
        : "r"(shared_address(&barrier)), "r"(parity)
        : "memory");
  else
    asm volatile(
        "{\n"
        ".reg .pred complete;\n"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 complete, [%1], %2;\n"
        "selp.u32 %0, 1, 0, complete;\n"
        "}"
        : "=r"(complete)
        : "r"(shared_address(&barrier)), "r"(parity)
        : "memory");
  return complete != 0;
#else
  return emulator::abi::mbarrier_try_wait(&barrier, parity, where);
#endif
}

/// mbarrier.test_wait.parity: the same without suspending.
LAPIDARY_DEVICE bool mbarrier_test_wait(Mbarrier& barrier, unsigned parity,
                                        [[maybe_unused]] CallSite where = std::source_location::current()) {
#if defined(__CUDACC__)
  unsigned complete;
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 complete, [%1], %2;\n"
      "selp.u32 %0, 1, 0, complete;\n"
      "}"
      : "=r"(complete)
      : "r"(shared_address(&barrier)), "r"(parity)
      : "memory");
  return complete != 0;
#else
  return emulator::abi::mbarrier_test_wait(&barrier, parity, where);
#endif
}

}  // namespace lapidary::inline LAPIDARY_BUILD
