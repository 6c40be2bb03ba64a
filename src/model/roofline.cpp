#include "model/roofline.hpp"

#include <algorithm>
#include <limits>

#include "layout/require.hpp"

namespace lapidary::model {
namespace {

void require_legal(const GemmShape& gemm) {
  for (const std::int64_t size : {gemm.M, gemm.N, gemm.K})
    require(size >= 0, "GemmShape: sizes are not negative", size, 0);
  for (const int bytes : {gemm.operand_bytes, gemm.result_bytes}) {
    require(bytes >= 1, "GemmShape: an element has at least 1 byte", bytes, 1);
  }
}

double product(std::int64_t a, std::int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }

}  // namespace

double flop(const GemmShape& gemm) {
  require_legal(gemm);
  return 2 * product(gemm.M, gemm.N) * static_cast<double>(gemm.K);
}

double compulsory_bytes(const GemmShape& gemm) {
  require_legal(gemm);
  const double operands = product(gemm.M, gemm.K) + product(gemm.K, gemm.N);
  const double results = product(gemm.M, gemm.N) * (gemm.reads_c ? 2 : 1);
  // Without results nothing is read either.
  return gemm.M == 0 || gemm.N == 0 ? 0 : operands * gemm.operand_bytes + results * gemm.result_bytes;
}

double arithmetic_intensity(double flop, double bytes) {
  if (bytes == 0) return flop == 0 ? 0 : std::numeric_limits<double>::infinity();
  return flop / bytes;
}

Ceilings ceilings(const Gpu& gpu) {
  const double sm_clocks = gpu.sms * gpu.clock_hz;
  std::optional<double> l2 = gpu.l2_read_measured_bytes_per_s;
  if (!l2 && gpu.l2_read_bytes_per_clk) l2 = *gpu.l2_read_bytes_per_clk * gpu.clock_hz;
  return {2 * gpu.fp32_lanes * sm_clocks, gpu.shared_bytes_per_clk * sm_clocks, l2, gpu.dram_bytes_per_s};
}

double tensor_peak(const Gpu& gpu, double flop_per_clk) { return flop_per_clk * gpu.sms * gpu.clock_hz; }

double tensor_flop_per_clk(const Gpu& gpu, Type operands) {
  switch (operands) {
    case Type::f32:
    case Type::tf32: return gpu.tensor_tf32_flop_per_clk;
    case Type::f16: return gpu.tensor_f16_flop_per_clk;
    case Type::bf16: return gpu.tensor_bf16_flop_per_clk;
    case Type::e4m3: return gpu.tensor_fp8_flop_per_clk;
    case Type::s8: return gpu.tensor_int8_op_per_clk;
    case Type::s32: break;
  }
  return 0;
}

bool knows_mma_rate(const Gpu& gpu) { return gpu.compute_capability < 100 || gpu.compute_capability >= 120; }

double attainable(double peak_flops, double bytes_per_s, double flop_per_byte) {
  return std::min(peak_flops, bytes_per_s * flop_per_byte);
}

}  // namespace lapidary::model
