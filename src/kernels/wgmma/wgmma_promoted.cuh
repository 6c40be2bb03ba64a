#pragma once
#include "kernels/wgmma/wgmma_energy.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_promoted {

constexpr RungInfo info = {
    .name = "wgmma_promoted",
    .parent = "wgmma_energy",
    .idea = "FP8, added up in f32 outside of the tensor cores",
    .change =
        "Tensor cores add up 128 products, those of a stage, in registers of their own; the sums of all stages are added "
        "up by CUDA cores",
    .why =
        "Of a sum of FP8 products Hopper's tensor cores keep 13 fraction bits, not 23: over a K of 8192 what is cut off "
        "makes an error of 0.2 % of the results, root mean square",
    .counter = "FADD: one for each 128 multiply-adds; the error at a K of 8192 falls to a fifteenth, 0.013 %",
    .cost =
        "Twice the registers for results, and so tiles of 128 x 192 instead of 128 x 256, multiplied in halves: one is "
        "added while the tensor cores are busy with the other",
    .exercise =
        "`lapidary run wgmma_promoted -m 128 -n 192 -k 4096`, then wgmma_energy with `--type 'e4m3 RC'`: how far is each "
        "from the exact product?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Tensor cores add up the products of a stage alone. The sums of the left half of its columns are added while the
/// products of the right half are computed, these while another warpgroup multiplies.
struct PromotingLoop : wgmma_specialized::MainLoop {
  static constexpr bool promotes = true;

  template <class Config, class Position>
  LAPIDARY_DEVICE static void multiply(const WgmmaBlock<Config>& block, Position& p,
                                       typename Config::Tile::Accumulators& rD, int warpgroup) {
    using Tile = typename Config::Tile;
    constexpr int count = Tile::Form::d_registers;
#pragma unroll
    for (int index = 0; index < count; ++index) rD[0][0][index] = rD[0][1][index] = 0;
    for (int step = 0; step < block.steps; ++step, p.advance()) {
      const auto *const sA = &block.shared.a[p.stage * Tile::A::size], *const sB = &block.shared
                                                                                        .b[p.stage * Tile::B::size];
      float left[count], right[count];
      block.pipeline.wait_full(p);
      Tile::multiply_column(left, 0, sA, sB, warpgroup);
      Tile::multiply_column(right, 1, sA, sB, warpgroup);
      wgmma_wait_group<1>(left);
      add(rD[0][0], left);
      wgmma_wait_group<0>(right);
      Config::Cluster::release(block.pipeline, p, block.rank);
      add(rD[0][1], right);
    }
  }

  template <int count>
  LAPIDARY_DEVICE static void add(float (&sums)[count], const float (&products)[count]) {
#pragma unroll
    for (int index = 0; index < count; ++index) sums[index] += products[index];
  }
};

template <KernelTraits t>
struct Config : wgmma_energy::Config<t> {
  using Loop = PromotingLoop;
  using Tile = WgmmaTile<typename Config::A, typename Config::B, 2, 2>;
};

template <class>
constexpr BuiltKernel built_kernels[] = {
    built_wgmma<info, Config<KernelTraits{.tile = {128, 192, 128},
                                          .kind = {Type::e4m3, Type::f32, Order::row_major, Order::column_major},
                                          .stages = 5,
                                          .cluster = {.down = 2, .across = 1}}>>()};

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_promoted
