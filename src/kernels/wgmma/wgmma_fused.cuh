#pragma once
#include "kernels/finish_by.cuh"
#include "kernels/wgmma/wgmma_energy.cuh"
#include "kernels/wgmma/wgmma_overlapped.cuh"

namespace lapidary::inline LAPIDARY_BUILD::wgmma_fused {

constexpr RungInfo info = {
    .name = "wgmma_fused",
    .parent = "wgmma_overlapped",
    .idea = "what follows a product is done on its way out",
    .change =
        "Biases, activations, factors, residuals and clamps are applied to sums in registers, slice by slice before "
        "these are rounded and staged; steps along K go there and back as in wgmma_energy",
    .why =
        "A second launch reads sums of 32 bits that the first one wrote, and does nothing but wait for memory; in "
        "registers the same costs arithmetic alone",
    .counter = "of a product alone none; with an epilogue what the second launch loads and stores is gone",
    .cost =
        "While a tile's epilogue is computed its tensor cores rest: a GELU takes three results of multifunction units "
        "for two numbers, and a multiprocessor makes 16 of them a cycle",
    .exercise =
        "`lapidary gemm --epilogue bias_of_columns-gelu_tanh` on a GPU: how long does the second launch of the others "
        "take?",
    .architecture = 90,
    .fallback = "mma_multistage",
};

/// Results are staged as in the parent after what `Finish` does to them.
template <class R, int warpgroups, int slices, int cols, class Finish>
struct FusedEpilogue : wgmma_staged::StagedEpilogue<R, warpgroups, slices, cols> {
  using Staged = wgmma_staged::StagedEpilogue<R, warpgroups, slices, cols>;
  struct Map {
    TensorMap d;
    Finish finish;

    friend void add_slots(Prepared& prepared, const Map& map, std::size_t offset) {
      add_slot(prepared, ArgumentSlot::Kind::tensor_map, Matrix::D, offset + offsetof(Map, d));
      add_slots(prepared, map.finish, offset + offsetof(Map, finish));
    }
  };
  static constexpr bool finishes = true;
  static std::string refusal(const Problem& problem) {
    const std::string of_it = Finish::refusal(problem.epilogue);
    return of_it.empty() ? Staged::refusal(problem) : of_it;
  }
  static Map map(const Problem& problem) { return map(problem, Finish::of(problem)); }
  static Map map(const Problem& problem, const Finish& finish) { return {Staged::map(problem).map, finish}; }

  template <class Tile, class T>
  LAPIDARY_DEVICE static void prefetch(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, const Map& map) {
    map.finish.template prefetch<Tile>(g, Staged::template origin_of<Tile>(block));
  }
  template <class Tile, class T>
  LAPIDARY_DEVICE static void store(const Gemm<T, R>& g, const RowCol<std::int64_t>& block, int thread,
                                    typename Tile::Accumulators& rD, const Map& map, typename Staged::Storage& shared) {
    const RowCol<int> origin = Staged::template origin_of<Tile>(block);
    scale_warpgroup(g, origin, rD);
    const BulkStore store{map.d};
    map.finish.template finish<Tile, cols>(
        g, origin, rD, [&](auto&& before) { Staged::template stage<Tile>(origin, thread, rD, store, shared, before); });
  }
};

template <KernelTraits t, class Finish>
struct ConfigWith : wgmma_overlapped::Config<t> {
  using Steps = wgmma_energy::ThereAndBack;
  using Epilogue = FusedEpilogue<typename wgmma_overlapped::Config<t>::Result, 2, t.slices, t.cols, Finish>;
};
template <KernelTraits t>
struct Config : ConfigWith<t, FinishBy<typename wgmma_overlapped::Config<t>::Result>> {};

constexpr KernelTraits of(Type type, Order b, int BN, int stages) {
  KernelTraits t = wgmma_cluster::traits({type, type, Order::row_major, b});
  t.tile.n = BN;
  t.stages = stages;
  return t;
}
constexpr std::array all_traits = {
    of(Type::bf16, Order::column_major, 256, 4), of(Type::bf16, Order::column_major, 128, 6),
    of(Type::bf16, Order::column_major, 64, 8),  of(Type::bf16, Order::row_major, 256, 4),
    of(Type::f16, Order::column_major, 256, 4),  of(Type::f16, Order::column_major, 128, 6),
    of(Type::f16, Order::column_major, 64, 8),
#if LAPIDARY_ALL_KERNELS
    of(Type::bf16, Order::row_major, 128, 6),    of(Type::bf16, Order::row_major, 64, 8),
    of(Type::f16, Order::row_major, 256, 4),     of(Type::f16, Order::row_major, 128, 6),
    of(Type::f16, Order::row_major, 64, 8),
#endif
};
constexpr auto build = [](auto t) { return built_wgmma<info, Config<t.value>>(); };
template <class Unit>
constexpr auto built_kernels = built_wgmma_list<Unit, all_traits>(build);

}  // namespace lapidary::inline LAPIDARY_BUILD::wgmma_fused
