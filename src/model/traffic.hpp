#pragma once
#include <cstdint>

#include "core/launch_shape.hpp"
#include "model/roofline.hpp"

namespace lapidary::model {

/// Loads of elements of A and B for each result, from whatever lies below a tile of m x n results that is read once for
/// each step of the sum and kept above: K / m of B and K / n of A. The same formula holds at each level:
///
///     global memory, BM x BN block tiles      K / BM + K / BN
///     shared memory, TM x TN thread tiles     K / TM + K / TN
///     one thread a result                     2 K
double loads_per_result(double K, int m, int n);

/// Multiply-adds for each such load: m n / (m + n).
double fma_per_load(int m, int n);

/// What crosses from L2 into the SMs if each block reads the tiles of A and B that it needs once, edges cut off, and C
/// if beta is not 0: K (M * ceil(N / BN) + N * ceil(M / BM)) elements, so that each element of A is read by N / BN
/// blocks and each of B by M / BM. Exact for kernels that stage their operands in shared memory; of those without, L1
/// makes it the lower bound.
double sm_read_bytes(const GemmShape& gemm, const TileShape& tile);

}  // namespace lapidary::model
