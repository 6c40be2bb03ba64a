#include "core/batch.hpp"

#include "core/math.hpp"

namespace lapidary {

std::int64_t stride_of(const Batch& batch, Matrix matrix) {
  switch (matrix) {
    case Matrix::A: return batch.stride_a;
    case Matrix::B: return batch.stride_b;
    case Matrix::C: return batch.stride_c;
    case Matrix::D: break;
  }
  return batch.stride_d;
}

std::int64_t part_of_k(const Problem& p) {
  if (p.split == 1) return p.K;
  return round_up<std::int64_t>(ceil_div<std::int64_t>(p.K, p.split), 128 / size_of(p.kind.type));
}

bool is_split(const Problem& p) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  return p.split > 1 && p.K > 0 && p.K < most && ceil_div(p.K, part_of_k(p)) == p.split && p.batch.count == p.split &&
         p.batch.stride_a == 0 && p.batch.stride_b == 0;
}

Batch one_after_another(const Problem& p, std::int64_t count) {
  const auto stride = [&](Matrix matrix) {
    const MatrixShape x = shape_of(p, matrix);
    return x.lines() * x.ld;
  };
  return {.count = count,
          .stride_a = stride(Matrix::A),
          .stride_b = stride(Matrix::B),
          .stride_c = stride(Matrix::C),
          .stride_d = stride(Matrix::D)};
}

}  // namespace lapidary
