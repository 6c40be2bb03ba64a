#include "lapidary/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/refusal.hpp"

namespace lapidary {
namespace {

/// The leading dimension of a matrix whose lines are those of an order; nothing if its strides are not those of one.
template <class Data>
std::optional<std::int64_t> leading_dimension(const BasicMatrixView<Data>& x, Order order) {
  const bool by_row = order == Order::row_major;
  const MatrixShape shape = {x.type, x.rows, x.cols, by_row ? x.row_stride : x.col_stride, order};
  const std::int64_t length = shape.length(), step = by_row ? x.col_stride : x.row_stride;
  if (length > 1 && step != 1) return {};
  if (shape.lines() <= 1 || length == 0) return std::max<std::int64_t>(length, 1);
  if (shape.ld < length) return {};
  return shape.ld;
}

struct Lines {
  Order order;
  std::int64_t ld;
};

Lines lines_of(Matrix matrix, const ConstMatrixView& x) {
  for (const Order order : {Order::row_major, Order::column_major})
    if (const auto ld = leading_dimension(x, order)) return {order, *ld};
  throw Refusal(RefusalId::strides_lines,
                fmt::format("{} is {} x {} with strides {} and {}; one of them must be 1, and the other one at "
                            "least the length of a line",
                            name_of(matrix), x.rows, x.cols, x.row_stride, x.col_stride));
}

void require_shape(RefusalId broken, Matrix matrix, std::int64_t rows, std::int64_t cols, const char* what,
                   std::int64_t wanted_rows, std::int64_t wanted_cols) {
  if (rows == wanted_rows && cols == wanted_cols) return;
  throw Refusal(broken, fmt::format("{} is {} x {}; {} it must be {} x {}", name_of(matrix), rows, cols, what,
                                    wanted_rows, wanted_cols));
}

/// Elements between the matrices of a batch of so many.
std::int64_t batch_stride(Matrix matrix, const ConstMatrixView& x, std::int64_t count) {
  if (x.count == count) return x.batch_stride;
  if (x.count == 1 && matrix != Matrix::D) return 0;
  throw Refusal(RefusalId::batch_matrices,
                fmt::format("there are {} matrices {}; there must be {}, as of D, or 1 for all", x.count,
                            name_of(matrix), count));
}

ConstMatrixView as_const(const MatrixView& x) {
  return {x.data, x.type, x.rows, x.cols, x.row_stride, x.col_stride, x.count, x.batch_stride};
}

}  // namespace

Product product_of(float alpha, const ConstMatrixView& A, const ConstMatrixView& B, float beta,
                   const ConstMatrixView& C, const MatrixView& D) {
  const ConstMatrixView d = as_const(D);
  const bool reads_c = beta != 0;
  for (const auto& [matrix, x] : {std::pair(Matrix::A, &A), std::pair(Matrix::B, &B), std::pair(Matrix::D, &d)})
    if (x->rows < 0 || x->cols < 0)
      throw Refusal(RefusalId::shape_size,
                    fmt::format("{} is {} x {}; sizes are 0 or more", name_of(matrix), x->rows, x->cols));
  require_shape(RefusalId::shape_b, Matrix::B, B.rows, B.cols, "as A and D are", A.cols, D.cols);
  require_shape(RefusalId::shape_d, Matrix::D, D.rows, D.cols, "as A and B are", A.rows, B.cols);
  if (A.type != B.type)
    throw Refusal(RefusalId::type_b,
                  fmt::format("A is of {} and B of {}; they must be of one type", name_of(A.type), name_of(B.type)));
  if (reads_c) {
    require_shape(RefusalId::shape_c, Matrix::C, C.rows, C.cols, "as D is", D.rows, D.cols);
    if (C.type != D.type)
      throw Refusal(RefusalId::type_c,
                    fmt::format("C is of {} and D of {}; they must be of one type", name_of(C.type), name_of(D.type)));
  }
  Problem p = {.kind = {A.type, D.type}, .M = D.rows, .N = D.cols, .K = A.cols};
  const Lines a = lines_of(Matrix::A, A), b = lines_of(Matrix::B, B);
  p.kind.a = a.order;
  p.kind.b = b.order;
  p.lda = a.ld;
  p.ldb = b.ld;
  // A matrix of one line may be of either order: C and D are of one that both can be.
  std::optional<std::int64_t> ldc, ldd;
  for (const Order order : {Order::row_major, Order::column_major}) {
    ldd = leading_dimension(D, order);
    ldc = reads_c ? leading_dimension(C, order) : ldd;
    p.order_d = order;
    if (ldc && ldd) break;
  }
  if (!ldc || !ldd) {
    lines_of(Matrix::D, d);
    lines_of(Matrix::C, C);
    throw Refusal(RefusalId::strides_order,
                  fmt::format("C has strides {} and {}, D has {} and {}; they must be of one order", C.row_stride,
                              C.col_stride, D.row_stride, D.col_stride));
  }
  p.ldc = *ldc;
  p.ldd = *ldd;
  if (D.count != 1 || A.count != 1 || B.count != 1 || (reads_c && C.count != 1))
    p.batch = {D.count, batch_stride(Matrix::A, A, D.count), batch_stride(Matrix::B, B, D.count),
               reads_c ? batch_stride(Matrix::C, C, D.count) : 0, D.batch_stride};
  const Operands operands = {.A = A.data, .B = B.data, .C = C.data, .D = D.data, .alpha = alpha, .beta = beta};
  p = with_known(p, operands);
  // What kernels do not tell apart is one plan.
  if (p.alpha == Factor::one) p.alpha = Factor::any;
  if (p.beta == Factor::one) p.beta = Factor::any;
  constexpr int enough = 16;
  for (int* const aligned : {&p.aligned.A, &p.aligned.B, &p.aligned.C, &p.aligned.D})
    *aligned = std::min(*aligned, enough);
  return {p, operands};
}

void Context::gemm(const Stream& stream, float alpha, const ConstMatrixView& A, const ConstMatrixView& B, float beta,
                   const ConstMatrixView& C, const MatrixView& D, const GemmOptions& options) {
  const Product product = product_of(alpha, A, B, beta, C, D);
  run(plan(product.problem, options), stream, product.operands);
}

}  // namespace lapidary
