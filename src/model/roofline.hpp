#pragma once
#include <cstdint>
#include <optional>

#include "core/types.hpp"
#include "model/gpu.hpp"

namespace lapidary::model {

/// D = alpha * A * B + beta * C as far as cost goes: A is M x K, B is K x N, C and D are M x N.
struct GemmShape {
  std::int64_t M, N, K;
  int operand_bytes = 4;  ///< of an element of A and B
  int result_bytes = 4;   ///< of an element of C and D
  bool reads_c = false;   ///< beta is not 0
};

/// 2 M N K, as everybody counts: alpha and beta add up to 3 M N, which is left out.
double flop(const GemmShape& gemm);

/// What has to cross the DRAM interface however large the caches are: A and B read, D written, and C read if beta is
/// not 0.
double compulsory_bytes(const GemmShape& gemm);

/// flop / bytes; 0 bytes give infinity, unless there is no work either, which gives 0.
double arithmetic_intensity(double flop, double bytes);

/// The rates that a GPU cannot exceed, at its highest clock. A rate that is not known is empty.
struct Ceilings {
  double f32_flops;           ///< fused multiply-adds on CUDA cores: 2 * lanes * SMs * clock
  double shared_bytes_per_s;  ///< shared memory, reads: width * SMs * clock
  /// L2 to the SMs, reads: as measured where it was, otherwise the published width at the SM clock.
  std::optional<double> l2_bytes_per_s;
  double dram_bytes_per_s;  ///< as published; a read loop reaches some 90 to 95 % of it
};

Ceilings ceilings(const Gpu& gpu);

/// What tensor cores add: a rate of an SM in a clock (Gpu::tensor_...) over all SMs at the highest clock. Published
/// peaks may be lower, for a lower clock.
double tensor_peak(const Gpu& gpu, double flop_per_clk);

/// What tensor cores of an SM do in a clock with operands of a type, in f32; of f32 itself by tf32. 0: they cannot.
double tensor_flop_per_clk(const Gpu& gpu, Type operands);

/// Whether it is known what mma.sync gets of those rates: not of a card whose rates are those of tcgen05 (compute
/// capabilities 10 and 11).
bool knows_mma_rate(const Gpu& gpu);

/// The roofline: the rate that `flop_per_byte` allows under a compute ceiling and a bandwidth.
double attainable(double peak_flops, double bytes_per_s, double flop_per_byte);

}  // namespace lapidary::model
