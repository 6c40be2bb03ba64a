#pragma once
#include "device/shared.hpp"
#include "kernels/built.hpp"
#include "layout/access.hpp"
#include "layout/layout.hpp"
#include "tile/epilogue.hpp"
#include "tile/global_tile.hpp"
#include "tile/outer_product.hpp"

namespace lapidary::inline LAPIDARY_BUILD::f16_padded {

constexpr RungInfo info = {
    .name = "f16_padded",
    .parent = "vectorized",
    .idea = "f16 in and out, f32 sums, two halves of padding",
    .change =
        "Elements are halves: 128 bits are eight of them. In each row of a tile two unused halves, one bank, "
        "follow every 64",
    .why =
        "Half the bytes for the same products. Without padding, threads that are 8 halves apart meet in a bank "
        "after 64",
    .counter =
        "shared_load: 32-bit reads take 1 wavefront instead of 2; shared_store: B's take 1 instead of 4, and "
        "A's, transposed half by half, 4 instead of 8",
    .cost =
        "A padded row does not keep vectors aligned, so no access to shared memory may be wider than 32 bits: "
        "four times the loads of its twin f16_unpadded, and of the stores four times B's, a third more in all. Offsets "
        "that nvcc cannot split into a thread's part and a constant would be 30 % of the loop",
    .exercise =
        "`lapidary banks \"f16 64x128+2/64\" \"read 128 [0, lane % 16 * 8]\"`: it faults. Find a padding that keeps "
        "128-bit reads legal.",
    .architecture = 80,
};

/// `width` is the number of halves of an access to shared memory, A's transposed stores aside.
template <int padding, int width_>
struct Config {
  using Element = f16;
  static constexpr int BM = 128, BN = 128, BK = 64, TM = 8, TN = 8, width = width_;
  static constexpr TileShape tile = {BM, BN, BK};
  static constexpr int threads = BM / TM * (BN / TN);
  static constexpr Layout a = row_major(BK, BM).padded(64, padding), b = row_major(BK, BN).padded(64, padding);

  using GlobalA = GlobalTile<f16, BM, BK, threads, 8>;
  using GlobalB = GlobalTile<f16, BK, BN, threads, 8>;
  LAPIDARY_HD static constexpr int row(int thread, int i) { return thread / (BN / TN) * TM + i; }
  LAPIDARY_HD static constexpr int col(int thread, int j) { return thread % (BN / TN) * TN + j; }
  // An offset is a part of the thread's and a part that is a constant in unrolled loops, which loads and stores have
  // room for. They may be added: 8 neighbours have no padding among them, nor has what the threads copy at a time.
  LAPIDARY_HD static constexpr int a_write(int thread, int v, int e) {
    constexpr int rows = GlobalA::rows_a_step;
    return offset_in<a>(GlobalA::element(thread, 0).col, GlobalA::element(thread, 0).row) + offset_in<a>(e, v * rows);
  }
  LAPIDARY_HD static constexpr int b_write(int thread, int v, int e) {
    constexpr int rows = GlobalB::rows_a_step;
    return offset_in<b>(GlobalB::element(thread, 0).row, GlobalB::element(thread, 0).col) + offset_in<b>(v * rows, e);
  }
  LAPIDARY_HD static constexpr int a_read(int thread, int k, int i) {
    return offset_in<a>(k, row(thread, 0)) + offset_in<a>(0, i);
  }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) {
    return offset_in<b>(k, col(thread, 0)) + offset_in<b>(0, j);
  }
};

using Padded = Config<2, 2>;
static_assert(wavefronts(warp_access<f16, 2>([](int lane) { return Padded::a_read(lane, 1, 0); })) == 1, "the minimum");
static_assert(wavefronts(warp_access<f16, 2>([](int lane) { return Padded::b_read(lane, 1, 0); })) == 1, "the minimum");
static_assert(wavefronts(warp_access<f16, 2>([](int lane) { return Padded::b_write(lane, 0, 0); })) == 1,
              "the minimum");
static_assert(wavefronts(warp_access<f16>([](int lane) { return Padded::a_write(lane, 0, 0); })) == 4,
              "a known conflict");
static_assert(misaligned_lanes(warp_access<f16, 8>([](int lane) { return Padded::b_read(lane, 0, 0); })) == 0xff00ff00u,
              "128-bit reads of the padded tile would fault");

template <class Config>
struct Storage {
  SharedArray<f16, Config::a.cosize()> a;  // (BK, BM)
  SharedArray<f16, Config::b.cosize()> b;  // (BK, BN)
};

// Two blocks a multiprocessor leave 128 registers a thread. The aligned path, padded or not, is close to that; the
// other one would have to spill.
template <class Config, bool vectorized>
__global__ void __launch_bounds__(Config::threads, vectorized ? 2 : 0) kernel(const Gemm<f16> g) {
  constexpr int BK = Config::BK, TM = Config::TM, TN = Config::TN, width = Config::width;
  auto& [sA, sB] = shared_storage<Storage<Config>>();
  const RowCol<std::int64_t> block = block_tile<Config::BM, Config::BN>(g.N);
  const int thread = threadIdx.x;
  typename Config::GlobalA gA(g.A, g.lda, block.row, 0, thread);
  typename Config::GlobalB gB(g.B, g.ldb, 0, block.col, thread);
  const int m_left = left_in_tile(g.M, block.row, Config::BM), n_left = left_in_tile(g.N, block.col, Config::BN);
  float rD[TM][TN] = {};
  for (std::int64_t k0 = 0; k0 < g.K; k0 += BK) {
    const int k_left = left_in_tile(g.K, k0, BK);
#pragma unroll
    for (int v = 0; v < gA.count; ++v) {
      write_shared<1>(gA.template load_vector<vectorized>(v, m_left, k_left),
                      [&](int e) -> f16& { return sA[Config::a_write(thread, v, e)]; });
      write_shared<width>(gB.template load_vector<vectorized>(v, k_left, n_left),
                          [&](int e) -> f16& { return sB[Config::b_write(thread, v, e)]; });
    }
    gA.advance(BK);
    gB.advance(BK * g.ldb);
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      read_shared<width>(rA, [&](int i) -> f16& { return sA[Config::a_read(thread, k, i)]; });
      read_shared<width>(rB, [&](int j) -> f16& { return sB[Config::b_read(thread, k, j)]; });
      outer_product(rD, rA, rB);
    }
    __syncthreads();
  }
  store_tile<Config, vectorized>(g, block, thread, rD);
}

template <class Config, const RungInfo& rung = info>
Prepared prepare(const Problem& problem, const Card&) {
  const auto best = vectorizable(problem) ? kernel<Config, true> : kernel<Config, false>;
  return prepared_tiles<Config, Storage<Config>>(rung, best, problem);
}

template <class>
constexpr BuiltKernel built_kernels[] = {built<Padded>(prepare<Padded>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::f16_padded
