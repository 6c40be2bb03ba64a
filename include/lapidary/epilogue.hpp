#pragma once
// For kernel files (.cuh) that are built with lapidary_add_kernel: products whose results are what a function of one's
// own makes of them, in the kernel that multiplies. On a GPU they are compiled for 90a (CUDA_ARCHITECTURES).
//
//   namespace mine::inline LAPIDARY_BUILD {
//   struct Halved {
//     LAPIDARY_DEVICE float operator()(float t, int row, int col) const { return row == col ? t : t / 2; }
//   };
//
//   lapidary::Prepared prepare(const lapidary::Problem& problem, const lapidary::Card& card) {
//     return lapidary::prepare_with<lapidary::Type::f16>(problem, card, Halved());
//   }
//   }
//
// A program calls mine::gpu::prepare, or that of another build, and launches what it returns as often as it likes.
#include <string>

#include "core/refusal.hpp"
#include "core/tiles.hpp"
#include "kernels/wgmma/wgmma_fused.cuh"
#include "lapidary/kernel.hpp"

namespace lapidary::inline LAPIDARY_BUILD {

/// A launch of D = f(alpha * A * B + beta * C) for cards of compute capability 9.0 and the emulated machine.
///
/// f(t, row, column) is a float; it is called once for each element of D, in f32 before the result is rounded, by any
/// thread and in any order. It may read device memory; it is a plain value, which the kernel is given with the launch.
/// @tparam type  of A, B, C and D: f16 or bf16. A is row-major.
/// @tparam order  of B
/// @param problem  of that kind, without an epilogue; one product, whose D is row-major, of factors that the host has.
/// Lines of all matrices begin at multiples of 16 bytes, N is a multiple of 8, and K is not 0; where M or N is 0,
/// nothing is launched
/// @param card  that it is to run on
/// @param f  is copied
/// @throws InvalidArgument naming the rule, the value and what is legal; DeviceError
template <Type type, Order order = Order::column_major, class F>
Prepared prepare_with(const Problem& problem, const Card& card, const F& f) {
  static_assert(type == Type::f16 || type == Type::bf16, "wgmma_fused is of 16 bits");
  constexpr KernelTraits traits = of_numbers(wgmma_fused::of(type, order, 256, 4));
  using Finish = FinishWith<F>;
  using Config = wgmma_fused::ConfigWith<traits, Finish>;
  const Problem p = resolved(problem);
  validate(p);
  if (card.compute_capability != 90)
    throw Refusal(RefusalId::kernel_card,
                  "the card has compute capability " + std::to_string(card.compute_capability / 10) + "." +
                      std::to_string(card.compute_capability % 10) + "; wgmma is of sm_90a alone");
  if (p.kind != traits.kind)
    throw Refusal(RefusalId::kernel_type, "the problem is of type " + to_string(p.kind) +
                                              "; this kernel was instantiated for " + to_string(traits.kind));
  if (const auto broken = unsupported(p, true)) throw Refusal(broken->id, broken->why);
  if (p.M == 0 || p.N == 0) return {.problem = p, .build = this_build};
  for (const std::string& why : {refusal_by_tiles(traits.tile, traits.cluster, true, p), refusal_of<Config>(p)})
    if (!why.empty()) throw Refusal(RefusalId::kernel_problem, why);
  const std::string few = refusal_by_multiprocessors(card.multiprocessors, traits.cluster, wgmma_fused::info.name);
  if (!few.empty()) throw Refusal(RefusalId::card_multiprocessors, few);
  return prepare_wgmma<wgmma_fused::info, Config>(p, card, Finish{f});
}

}  // namespace lapidary::inline LAPIDARY_BUILD
