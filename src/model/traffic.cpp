#include "model/traffic.hpp"

#include "core/math.hpp"
#include "layout/require.hpp"

namespace lapidary::model {
namespace {

void require_tile(int m, int n) {
  require(m >= 1, "traffic: a tile has at least 1 row", m, 1);
  require(n >= 1, "traffic: a tile has at least 1 column", n, 1);
}

}  // namespace

double loads_per_result(double K, int m, int n) {
  require_tile(m, n);
  return K / m + K / n;
}

double fma_per_load(int m, int n) { return 1 / loads_per_result(1, m, n); }

double sm_read_bytes(const GemmShape& gemm, const TileShape& tile) {
  require_tile(tile.m, tile.n);
  const double M = static_cast<double>(gemm.M), N = static_cast<double>(gemm.N), K = static_cast<double>(gemm.K);
  const double across = static_cast<double>(ceil_div<std::int64_t>(gemm.N, tile.n));
  const double down = static_cast<double>(ceil_div<std::int64_t>(gemm.M, tile.m));
  return K * (M * across + N * down) * gemm.operand_bytes + (gemm.reads_c ? M * N * gemm.result_bytes : 0);
}

}  // namespace lapidary::model
