#include "core/batch.hpp"

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
