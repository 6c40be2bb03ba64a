#pragma once
#include "kernels/simt/multistage.cuh"
#include "kernels/wgmma/wgmma_persistent.cuh"
#include "ptx/barrier.hpp"
#include "tile/outer_product_by_columns.hpp"
#include "tile/tma_box.hpp"

namespace lapidary::inline LAPIDARY_BUILD::bulk_transposed {

constexpr RungInfo info = {
    .name = "bulk_transposed",
    .parent = "multistage",
    .idea = "four warps bring and transpose, eight only multiply",
    .change =
        "Tiles come by bulk copies; four warps that multiply nothing turn A's from [m][k] to [k][m], into a ring of "
        "stages that the eight others multiply from. Blocks stay, and take tile after tile",
    .why =
        "Who multiplies copies nothing and waits for no barrier of the block; the loop has 16 k, not a whole tile, and "
        "by columns fewer FFMAs read three fresh registers, which takes a second cycle",
    .counter = "async_copy goes to zero; each element of A's tiles is read from shared memory and written once more",
    .cost = "Bases and lines at multiples of 16 bytes, a second place for A's tile, and one block a multiprocessor",
    .exercise = "`lapidary check bulk_transposed --puzzle`: who waits for whom where A's tile is turned?",
    .architecture = 90,
    .fallback = "multistage",
};

/// Of BM x BN results eight warps have a part each, four down and two across; their loop has code for `depth` of K.
template <int BM, int BN, int BK, int stages_, int depth_>
struct Config : WarpTile<BN, BM / 4, BN / 2, BM / 16, BN / 16> {
  using Element = float;
  using Walk = wgmma_persistent::TileByTile;
  static constexpr int TM = BM / 16, TN = BN / 16, stages = stages_, depth = depth_;
  static constexpr int consumers = 256, producers = 128, threads = consumers + producers;
  static constexpr TileShape tile = {BM, BN, BK};
  using Raw = TmaBox<float, BM, BK, 3>;  // A's tile as it comes
  using B = TmaBox<float, BK, BN>;
  static constexpr Layout raw = Raw::layout, a = row_major(BK, BM), b = row_major(BK, BN);
  static_assert(b == B::layout && BM == producers && BK % depth == 0 && depth % 2 == 0);

  // Each producer turns a row of A's tile, four k at a time.
  LAPIDARY_HD static constexpr int raw_read(int thread, int k) { return offset_in<raw>(thread % producers, k); }
  LAPIDARY_HD static constexpr int a_write(int thread, int k) { return offset_in<a>(k, thread % producers); }
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return raw_read(lane, 4); })) == 4, "the minimum");
  static_assert(wavefronts(warp_access<float>([](int lane) { return a_write(lane, 4); }), true) == 1, "the minimum");
  using WarpTile<BN, BM / 4, BN / 2, BM / 16, BN / 16>::row, WarpTile<BN, BM / 4, BN / 2, BM / 16, BN / 16>::col;
  LAPIDARY_HD static constexpr int a_read(int thread, int k, int i) { return offset_in<a>(k, row(thread, i)); }
  LAPIDARY_HD static constexpr int b_read(int thread, int k, int j) { return offset_in<b>(k, col(thread, j)); }
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return a_read(lane, 0, 0); })) == 2, "the minimum");
  static_assert(wavefronts(warp_access<float, 4>([](int lane) { return b_read(lane, 0, 0); })) == 2, "the minimum");
};

template <class Config>
struct Storage {
  SharedArray<float, Config::Raw::size, 1024> raw;                // (BM, BK)
  SharedArray<float, Config::stages * Config::Raw::size, 128> a;  // (stages, BK, BM)
  SharedArray<float, Config::stages * Config::B::size, 128> b;    // (stages, BK, BN)
  SharedArray<Mbarrier, Config::stages> full, empty;
  SharedArray<Mbarrier, 1> come;  // what is to be turned
};

template <class Config, bool vectorized>
__global__ void __launch_bounds__(Config::threads, 1)
    kernel(const __grid_constant__ TensorMap mapA, const __grid_constant__ TensorMap mapB, const Gemm<float> g,
           const typename Config::Walk walk) {
  using B = typename Config::B;
  constexpr int BM = Config::tile.m, BN = Config::tile.n, BK = Config::tile.k, TM = Config::TM, TN = Config::TN;
  auto& [sRaw, sA, sB, full, empty, come] = shared_storage<Storage<Config>>();
  const Pipeline<Config::stages> pipeline = {&full[0], &empty[0]};
  const int steps = static_cast<int>(ceil_div<std::int64_t>(g.K, BK));
  const int thread = static_cast<int>(threadIdx.x), warp = warp_of_block();
  const int first = static_cast<int>(blockIdx.x), stride = static_cast<int>(gridDim.x);
  if (thread == 0) {
    pipeline.init(Config::consumers / 32);
    mbarrier_init(come[0], 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  RingPosition<Config::stages> p;
  if (warp >= Config::consumers / 32) {
    setmaxnreg_dec<40>();
    const bool copies = warp == Config::consumers / 32 && elect_sync();
    RingPosition<1> raw;
    for (int number = first; walk.has(number); number = walk.next(number, stride)) {
      const auto [row, col] = walk.tile(number);
      for (int step = 0; step < steps; ++step, p.advance(), raw.advance()) {
        if (copies) {
          pipeline.wait_empty(p);
          mbarrier_expect_tx(pipeline.full(p), B::bytes);
          B::copy(&sB[p.stage * B::size], mapB, step * BK, col * BN, pipeline.full(p));
          mbarrier_arrive_expect_tx(come[0], Config::Raw::bytes);
          Config::Raw::copy(&sRaw[0], mapA, row * BM, step * BK, come[0]);
        }
        __syncwarp();
        wait(come[0], raw.phase);  // and so the stage is empty
        float* const a = &sA[p.stage * Config::Raw::size];
#pragma unroll
        for (int k = 0; k < BK; k += 4)
          write_shared<1>(load_vector<4>(sRaw[Config::raw_read(thread, k)]),
                          [&](int e) -> float& { return a[Config::a_write(thread, k + e)]; });
        barrier_sync(1, Config::producers);  // the raw tile has been read, and A's is there
        if (copies) mbarrier_arrive(pipeline.full(p));
      }
    }
    return;
  }
  setmaxnreg_inc<232>();
  for (int number = first; walk.has(number); number = walk.next(number, stride)) {
    float rA[2][TM], rB[2][TN], rD[TM][TN] = {};
    for (int step = 0; step < steps; ++step, p.advance()) {
      pipeline.wait_full(p);
      const float *a = &sA[p.stage * Config::Raw::size], *b = &sB[p.stage * B::size];
      const auto read = [&](int k) {
        read_shared<4>(rA[k % 2], [&](int i) -> const float& { return a[Config::a_read(thread, k, i)]; });
        read_shared<4>(rB[k % 2], [&](int j) -> const float& { return b[Config::b_read(thread, k, j)]; });
      };
#pragma unroll 1
      for (int k0 = 0; k0 < BK; k0 += Config::depth, a += Config::depth * BM, b += Config::depth * BN) {
        read(0);
#pragma unroll
        for (int k = 0; k < Config::depth; ++k) {
          if (k + 1 < Config::depth) read(k + 1);
          outer_product_by_columns(rD, rA[k % 2], rB[k % 2]);
        }
      }
      __syncwarp();  // all lanes have read the stage
      if (thread % 32 == 0) pipeline.release(p);
    }
    const auto [row, col] = walk.tile(number);
    store_tile<Config, vectorized>(g, {std::int64_t{row} * BM, std::int64_t{col} * BN}, thread, rD);
  }
}

template <class C>
Prepared prepare(const Problem& problem, const Card& card) {
  const auto walk = walk_of<C>(problem.M, problem.N, C::tile);
  const LaunchShape shape = {.kernel = info.name,
                             .grid = walk.template grid<Alone>(card.multiprocessors),
                             .block = C::threads,
                             .shared_bytes = sizeof(Storage<C>)};
  return prepared(problem, shape, vectorizable(problem) ? kernel<C, true> : kernel<C, false>,
                  C::Raw::map(problem, Matrix::A), C::B::map(problem, Matrix::B), gemm_of<float>(problem), walk);
}

template <class C>
constexpr BuiltKernel build = {traits_of<C>(), refusal_of_operands, prepare<C>, order_of<C, C::tile>()};

template <class>
constexpr BuiltKernel built_kernels[] = {build<Config<128, 256, 32, 4, 16>>, build<Config<128, 192, 32, 5, 16>>};

}  // namespace lapidary::inline LAPIDARY_BUILD::bulk_transposed
