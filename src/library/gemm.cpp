#include "lapidary/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/refusal.hpp"

namespace lapidary {
namespace {

constexpr Order all_orders[] = {Order::row_major, Order::column_major};

/// The leading dimension of a matrix whose lines are those of an order; nothing if its strides are not those of one.
/// Of a single line that is where a second one would begin, if one could.
template <class Data>
std::optional<std::int64_t> leading_dimension(const BasicMatrixView<Data>& x, Order order) {
  const bool by_row = order == Order::row_major;
  const MatrixShape shape = {x.type, x.rows, x.cols, by_row ? x.row_stride : x.col_stride, order};
  const std::int64_t length = shape.length(), step = by_row ? x.col_stride : x.row_stride;
  if (length > 1 && step != 1) return {};
  if (shape.empty()) return std::max<std::int64_t>(length, 1);
  constexpr std::int64_t most = std::int64_t{1} << 48;  // of so many a few thousand lines are still counted in 63 bits
  if (shape.lines() == 1) return shape.ld < length || shape.ld > most ? length : shape.ld;
  if (shape.ld < length) return {};
  return shape.ld;
}

/// The orders, first those of which a matrix would be with more lines, and more elements in each, too.
template <class Data>
std::array<Order, 2> likely_orders(const BasicMatrixView<Data>& x) {
  const bool by_row = x.col_stride == 1 && x.row_stride >= x.cols,
             by_column = x.row_stride == 1 && x.col_stride >= x.rows;
  if (by_column && !by_row) return {Order::column_major, Order::row_major};
  return {Order::row_major, Order::column_major};
}

struct Lines {
  Order order;
  std::int64_t ld;
};

Lines lines_of(const char* name, const ConstMatrixView& x) {
  for (const Order order : likely_orders(x))
    if (const auto ld = leading_dimension(x, order)) return {order, *ld};
  throw Refusal(
      RefusalId::strides_lines,
      fmt::format("{} is {} x {} with strides {} and {}; one of them must be 1 and the other one at least the "
                  "length of a line: {} and 1 if rows are the lines, 1 and {} if columns are",
                  name, x.rows, x.cols, x.row_stride, x.col_stride, x.cols, x.rows));
}

void require_shape(RefusalId broken, const char* name, std::int64_t rows, std::int64_t cols, const char* what,
                   std::int64_t wanted_rows, std::int64_t wanted_cols) {
  if (rows == wanted_rows && cols == wanted_cols) return;
  throw Refusal(broken,
                fmt::format("{} is {} x {}; {} it must be {} x {}", name, rows, cols, what, wanted_rows, wanted_cols));
}

void require_like_d(const char* name, const ConstMatrixView& x, const ConstMatrixView& d, RefusalId shape,
                    RefusalId type) {
  require_shape(shape, name, x.rows, x.cols, "as D is", d.rows, d.cols);
  if (x.type != d.type)
    throw Refusal(
        type, fmt::format("{} is of {} and D of {}; they must be of one type", name, name_of(x.type), name_of(d.type)));
}

/// Elements between the matrices of a batch of so many.
std::int64_t batch_stride(std::string_view name, const ConstMatrixView& x, std::int64_t count) {
  if (x.count == count) return x.batch_stride;
  if (x.count == 1) return 0;
  throw Refusal(RefusalId::batch_matrices,
                fmt::format("there are {} matrices {}; there must be {}, as of D, or 1 for all", x.count, name, count));
}

}  // namespace

Product product_of(Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
                   const ConstMatrixView& C, const MatrixView& D, const GemmEpilogue& epilogue) {
  const ConstMatrixView d = D;
  const bool reads_c = beta.device || beta.value != 0;
  for (const auto& [matrix, x] : {std::pair(Matrix::A, &A), std::pair(Matrix::B, &B), std::pair(Matrix::D, &d)})
    if (x->rows < 0 || x->cols < 0)
      throw Refusal(RefusalId::shape_size,
                    fmt::format("{} is {} x {}; sizes are 0 or more", name_of(matrix), x->rows, x->cols));
  require_shape(RefusalId::shape_b, "B", B.rows, B.cols, "as A and D are", A.cols, D.cols);
  require_shape(RefusalId::shape_d, "D", D.rows, D.cols, "as A and B are", A.rows, B.cols);
  for (const auto& [matrix, type] : {std::pair(Matrix::A, A.type), std::pair(Matrix::B, B.type)})
    if (type > Type::s32)
      throw Refusal(RefusalId::type_value,
                    fmt::format("the element type of {} has value {}; it must be f32, f16, bf16, "
                                "tf32, e4m3 or s8",
                                name_of(matrix), static_cast<int>(type)));
  if (A.type != B.type)
    throw Refusal(RefusalId::type_b,
                  fmt::format("A is of {} and B of {}; they must be of one type", name_of(A.type), name_of(B.type)));
  if (reads_c) {
    require_like_d("C", C, d, RefusalId::shape_c, RefusalId::type_c);
  }
  Problem p = {.kind = {A.type, D.type}, .M = D.rows, .N = D.cols, .K = A.cols};
  const Lines a = lines_of("A", A), b = lines_of("B", B);
  p.kind.a = a.order;
  p.kind.b = b.order;
  p.lda = a.ld;
  p.ldb = b.ld;
  // What is not there counts as D.
  const ConstMatrixView* const residual = epilogue.residual ? &*epilogue.residual : &d;
  require_like_d("the residual", *residual, d, RefusalId::shape_residual, RefusalId::type_residual);
  // A matrix of one line may be of either order: C, D and the residual are of one that all can be.
  const auto like_d = [&](const ConstMatrixView& x) {
    return std::any_of(std::begin(all_orders), std::end(all_orders),
                       [&](Order order) { return leading_dimension(x, order) && leading_dimension(d, order); });
  };
  lines_of("D", d);
  for (const auto& [name, x] : {std::pair("C", reads_c ? &C : &d), {"the residual", residual}}) {
    lines_of(name, *x);
    if (!like_d(*x))
      throw Refusal(RefusalId::strides_order,
                    fmt::format("{} has strides {} and {}, D has {} and {}; they must be of one order", name,
                                x->row_stride, x->col_stride, D.row_stride, D.col_stride));
  }
  for (const Order order : likely_orders(d)) {
    const auto ldc = leading_dimension(reads_c ? C : d, order), ldd = leading_dimension(d, order),
               ldr = leading_dimension(*residual, order);
    if (!ldc || !ldd || !ldr) continue;
    p.order_d = order;
    p.ldc = *ldc;
    p.ldd = *ldd;
    if (epilogue.residual) p.ldr = *ldr;
    break;
  }
  // Of an empty batch some operand is none either; or else it was forgotten to say how many D there are.
  if (D.count == 0 && A.count != 0 && B.count != 0 && (!reads_c || C.count != 0) &&
      (!epilogue.residual || residual->count != 0))
    throw Refusal(RefusalId::batch_matrices,
                  fmt::format("there are 0 matrices D, {} A and {} B; there must be as many D as others, or of those 0 "
                              "as well",
                              A.count, B.count));
  if (D.count != 1 || A.count != 1 || B.count != 1 || (reads_c && C.count != 1) || residual->count != 1)
    p.batch = {D.count,
               batch_stride("A", A, D.count),
               batch_stride("B", B, D.count),
               reads_c ? batch_stride("C", C, D.count) : 0,
               D.batch_stride,
               epilogue.residual ? batch_stride("of the residual", *residual, D.count) : 0};
  Operands operands = {.A = A.data, .B = B.data, .C = C.data, .D = D.data, .alpha = alpha.value, .beta = beta.value};
  operands.device_alpha = alpha.device;
  operands.device_beta = beta.device;
  if (alpha.device) p.alpha = Factor::in_device_memory;
  if (beta.device) p.beta = Factor::in_device_memory;
  p.epilogue = {epilogue.bias, epilogue.activation, epilogue.scale.has_value(), epilogue.residual.has_value(),
                epilogue.clamp.has_value()};
  operands.bias = epilogue.bias_data;
  if (epilogue.residual) operands.residual = residual->data;
  if (epilogue.scale) operands.scale = *epilogue.scale;
  if (epilogue.clamp) std::tie(operands.low, operands.high) = *epilogue.clamp;
  p = with_known(p, operands);
  // A line that is stored where it was read is one line, whatever is said of the next ones.
  if (p.in_place && shape_of(p, Matrix::D).lines() == 1) p.ldc = p.ldd;
  if (epilogue.residual && shape_of(p, Matrix::D).lines() == 1) p.ldr = p.ldd;
  // What kernels do not tell apart is one plan. Of results of s32 an alpha of 1 is all that there is.
  if (p.alpha == Factor::one && p.kind.result != Type::s32) p.alpha = Factor::any;
  if (p.beta == Factor::one) p.beta = Factor::any;
  constexpr int enough = 16;
  for (int* const aligned : {&p.aligned.A, &p.aligned.B, &p.aligned.C, &p.aligned.D})
    *aligned = std::min(*aligned, enough);
  return {p, operands};
}

Product product_of_groups(Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
                          const ConstMatrixView& C, const MatrixView& D, const GroupEnds& ends) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (ends.count < 1 || ends.count > most)
    throw Refusal(RefusalId::groups_count, fmt::format("there are {} groups; there are 1 to {}", ends.count, most));
  const bool reads_c = beta.device || beta.value != 0;
  for (const auto& [name, count] : {std::pair("A", A.count), {"C", reads_c ? C.count : 1}, {"D", D.count}})
    if (count != 1)
      throw Refusal(RefusalId::groups_matrices,
                    fmt::format("there are {} matrices {}; there must be 1, of which groups have rows", count, name));
  if (B.count != ends.count && B.count != 1)
    throw Refusal(
        RefusalId::groups_matrices,
        fmt::format("there are {} matrices B; there must be {}, as of groups, or 1 for all", B.count, ends.count));
  ConstMatrixView b = B;
  b.count = 1;
  Product product = product_of(alpha, A, b, beta, C, D);
  product.problem.groups = static_cast<int>(ends.count);
  product.problem.batch.stride_b = B.count == 1 ? 0 : B.batch_stride;
  product.operands.group_ends = ends.data;
  return product;
}

void Context::gemm_grouped(const Stream& stream, Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B,
                           Scalar beta, const ConstMatrixView& C, const MatrixView& D, const GroupEnds& ends,
                           const GemmOptions& options) {
  const Product product = product_of_groups(alpha, A, B, beta, C, D, ends);
  run(plan(product.problem, options), stream, product.operands);
}

void Context::gemm(const Stream& stream, Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
                   const ConstMatrixView& C, const MatrixView& D, const GemmOptions& options) {
  gemm(stream, alpha, A, B, beta, C, D, GemmEpilogue(), options);
}

void Context::gemm(const Stream& stream, Scalar alpha, const ConstMatrixView& A, const ConstMatrixView& B, Scalar beta,
                   const ConstMatrixView& C, const MatrixView& D, const GemmEpilogue& epilogue,
                   const GemmOptions& options) {
  const Product product = product_of(alpha, A, B, beta, C, D, epilogue);
  run(plan(product.problem, options), stream, product.operands);
}

}  // namespace lapidary
