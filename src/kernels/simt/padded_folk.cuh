#pragma once
#include "kernels/simt/vectorized.cuh"

namespace lapidary::inline LAPIDARY_BUILD::padded_folk {

constexpr RungInfo info = {
    .name = "padded_folk",
    .parent = "vectorized",
    .idea = "a lesson: 5 columns of padding, and more conflicts",
    .change = "Five unused columns follow each row of B's tile, as a folk remedy against bank conflicts has it",
    .why =
        "Padding moves a row against the row before it. B's conflicts are between lanes that read the same row, "
        "which no row padding can change",
    .counter =
        "shared_load: rows no longer begin on 16 bytes, so B is read by single words: 10 instructions for 64 "
        "multiply-adds instead of 4, each one of B still a 4-way conflict, 36 wavefronts instead of 20. Stores "
        "of B become 4-way conflicts too",
    .cost = "144 bytes of shared memory, and on an H200 an eighth of the speed",
    .exercise =
        "`lapidary banks \"f32 8x128+5/128\" \"read 32 [0, lane % 16 * 8]\"`: change the 5 until the picture changes.",
    .architecture = 80,
};

template <int BM, int BN, int BK>
struct Config : vectorized::Config<BM, BN, BK> {
  using Parent = vectorized::Config<BM, BN, BK>;
  static constexpr Layout b = Layout({BK, BN}, {BN + 5, 1});
  static constexpr int b_width = 1;

  LAPIDARY_HD static constexpr int b_write(int thread, int v, int e) {
    return offset_in<b>(Parent::GlobalB::element(thread, v).row, Parent::GlobalB::element(thread, v).col + e);
  }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) { return offset_in<b>(k, Parent::col(thread, j)); }
  static_assert(misaligned_lanes(warp_access<float, 4>([](int lane) { return b_read(lane, 1, 0); })) == 0xffffffffu,
                "128-bit reads of the second row would fault");
  static_assert(wavefronts(warp_access<float>([](int lane) { return b_read(lane, 0, 0); })) == 4, "a known conflict");
  static_assert(wavefronts(warp_access<float>([](int lane) { return b_write(lane, 0, 0); })) == 4, "a known conflict");
};

static_assert(round_up<int>(Config<128, 128, 8>::b.cosize() * 4, 16) ==
              vectorized::Config<128, 128, 8>::b.cosize() * 4 + 144);

template <class>
constexpr BuiltKernel built_kernels[] = {built<Config<128, 128, 8>>(vectorized::prepare<Config<128, 128, 8>, info>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::padded_folk
