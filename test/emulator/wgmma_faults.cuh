#pragma once
// A product by wgmma with one bug each, for the emulated machine alone. wgmma_test.cpp finds the lines by their text.
#include "device/shared.hpp"
#include "layout/fragment.hpp"
#include "ptx/barrier.hpp"
#include "ptx/cp_async.hpp"
#include "ptx/cp_async_bulk.hpp"
#include "ptx/fence.hpp"
#include "ptx/mbarrier.hpp"
#include "ptx/wgmma.hpp"
#include "register.hpp"

namespace lapidary::test::inline LAPIDARY_BUILD {

using Form = Wgmma<bf16, bf16, float, 64>;
using Narrow = Wgmma<bf16, bf16, float, 32>;
constexpr Layout tile_of_64 = row_major(64, 64).swizzled(3, 3, 3);

struct Tiles {
  SharedArray<bf16, 64 * 64, 1024> a, b;
  Mbarrier barrier;
};

enum class Bug {
  none,
  bulk,  ///< none: bulk copies bring the tiles
  bulk_not_waited_for,
  no_fence,
  no_fence_after_write,
  no_fence_after_write_of_a,
  read_before_wait,
  write_before_wait,
  a_written_before_wait,
  wait_leaves_it,
  no_commit,
  no_wait,
  slot_stored,
  slot_copied,
  slot_bulk_copied,
  slot_stored_by_one,
  no_barrier,
  no_proxy_fence,
  other_descriptor,
  other_scale,
  warp_missing,
  warp_exits,
  warp_without_fence,
  warp_without_commit,
  warp_without_wait,
  lanes_missing,
  other_shape,
  leading,
  stride,
  swizzle,
  misaligned,
  base_offset,
};

LAPIDARY_DEVICE void fill(SharedArray<bf16, 64 * 64, 1024>& s) {
  constexpr Layout at = tile_of_64;
  for (int i = static_cast<int>(threadIdx.x); i < 64 * 64; i += 128)
    s[at(i / 64, i % 64)] = from_float<bf16>(static_cast<float>(i % 61));
}

LAPIDARY_DEVICE std::uint64_t descriptor(const bf16* start, Bug bug) {
  constexpr MatrixTile matrix(tile_of_64, Major::k, 2);
  MatrixDescriptor d = matrix.descriptor(shared_address(start));
  if (bug == Bug::stride) d.stride = 2048;
  if (bug == Bug::swizzle) d.swizzle = TensorSwizzle::bytes64;
  if (bug == Bug::misaligned) d.start += 512;
  if (bug == Bug::base_offset) d.base_offset = 4;
  if (bug == Bug::leading) d = {.start = d.start, .leading = 32 * 1024, .stride = 128, .swizzle = TensorSwizzle::none};
  if (bug == Bug::other_descriptor && threadIdx.x / 32 == 2) d.start += 32;
  return encode(d);
}

template <Bug bug>
__global__ void faulty_product(float* a, float* b, float* c, int) {
  auto& [sA, sB, barrier] = shared_storage<Tiles>();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  constexpr bool bulk = bug == Bug::bulk || bug == Bug::bulk_not_waited_for;
  if (!bulk) {
    fill(sA);
    fill(sB);
  }
  if (thread == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
  }
  if (bug != Bug::no_proxy_fence) fence_proxy_async();
  if (bug != Bug::no_barrier) __syncthreads();
  if (bulk && thread == 0) {
    mbarrier_arrive_expect_tx(barrier, 2 * 8192);
    cp_async_bulk_load(&sA[0], a, 8192, barrier);
    cp_async_bulk_load(&sB[0], b, 8192, barrier);
  }
  if (bug == Bug::bulk)
    while (!mbarrier_try_wait(barrier, 0)) continue;
  float d[Form::d_registers] = {};
  std::uint32_t rA[4] = {};
  if (bug != Bug::no_fence) {
    wgmma_fence(rA);
    if (bug != Bug::warp_without_fence || warp != 3) wgmma_fence(d);
  }
  if (bug == Bug::no_fence_after_write) d[3] = 1;
  if (bug == Bug::no_fence_after_write_of_a) rA[2] = 1;
  const std::uint64_t from_a = descriptor(&sA[0], bug), from_b = descriptor(&sB[0], Bug::none);
  if (bug == Bug::warp_exits && warp == 3) return;
  constexpr bool registers = bug == Bug::no_fence_after_write_of_a || bug == Bug::a_written_before_wait;
  const bool accumulate = !(bug == Bug::other_scale && warp == 1);
  if constexpr (registers) {
    wgmma_mma_async<Form>(d, rA, from_b, true);
  } else if (!(bug == Bug::warp_missing && warp == 3) && !(bug == Bug::lanes_missing && thread % 32 < 16)) {
    wgmma_mma_async<Form>(d, from_a, from_b, accumulate);
  }
  if constexpr (bug == Bug::other_shape)
    wgmma_mma_async<Narrow>(reinterpret_cast<float(&)[16]>(d), from_a, from_b, true);
  if (bug != Bug::no_commit && !(bug == Bug::warp_without_commit && warp == 3)) wgmma_commit_group();
  if (bug == Bug::read_before_wait) c[thread] = d[5];
  if (bug == Bug::write_before_wait) d[5] = 0;
  if (bug == Bug::a_written_before_wait) rA[1] = 7;
  if (bug == Bug::slot_stored && thread == 100) sB[8] = bf16{0};
  if (bug == Bug::slot_copied && thread == 100) cp_async<16>(&sB[8], a, 16);
  if (bug == Bug::slot_bulk_copied && thread == 0) cp_async_bulk_load(&sB[0], a, 256, barrier);
  if (bug != Bug::no_wait && !(bug == Bug::warp_without_wait && warp == 3))
    wgmma_wait_group<bug == Bug::wait_leaves_it ? 1 : 0>(d);
  if (bug == Bug::slot_stored_by_one && thread == 0) sB[8] = bf16{1};
  float sum = 0;
  if (bug != Bug::no_wait)
    for (int i = 0; i < Form::d_registers; ++i) sum += d[i];
  c[thread] = sum;
  if (bug == Bug::slot_copied) {
    cp_async_commit_group();
    cp_async_wait_group<0>();
  }
}

constexpr TestKernel wgmma_fault_table[] = {
    entry<faulty_product<Bug::none>>("none", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::bulk>>("bulk", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::bulk_not_waited_for>>("bulk_not_waited_for", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::slot_stored_by_one>>("slot_stored_by_one", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::no_fence>>("no_fence", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::no_fence_after_write>>("no_fence_after_write", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::no_fence_after_write_of_a>>("no_fence_after_write_of_a", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::read_before_wait>>("read_before_wait", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::write_before_wait>>("write_before_wait", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::a_written_before_wait>>("a_written_before_wait", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::wait_leaves_it>>("wait_leaves_it", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::no_commit>>("no_commit", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::no_wait>>("no_wait", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::slot_stored>>("slot_stored", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::slot_copied>>("slot_copied", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::slot_bulk_copied>>("slot_bulk_copied", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::no_barrier>>("no_barrier", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::no_proxy_fence>>("no_proxy_fence", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::other_descriptor>>("other_descriptor", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::other_scale>>("other_scale", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::warp_missing>>("warp_missing", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::warp_exits>>("warp_exits", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::warp_without_fence>>("warp_without_fence", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::warp_without_commit>>("warp_without_commit", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::warp_without_wait>>("warp_without_wait", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::lanes_missing>>("lanes_missing", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::other_shape>>("other_shape", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::leading>>("leading", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::stride>>("stride", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::swizzle>>("swizzle", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::misaligned>>("misaligned", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::base_offset>>("base_offset", 1, 128, sizeof(Tiles)),
    entry<faulty_product<Bug::none>>("half_a_warpgroup", 1, 64, sizeof(Tiles)),
};

TestKernels wgmma_faults() { return {wgmma_fault_table, std::size(wgmma_fault_table)}; }

}  // namespace lapidary::test::inline LAPIDARY_BUILD
