#include "library/canonical.hpp"

#include <utility>

namespace lapidary::library {
namespace {

constexpr Order other(Order order) { return order == Order::row_major ? Order::column_major : Order::row_major; }

/// Whether lines of results, of one element each, begin one behind the other in all matrices that there are.
bool results_follow_each_other(const Problem& p) {
  return p.ldd == 1 && (!p.reads_c() || p.ldc == 1) && (!p.epilogue.residual || p.ldr == 1);
}

/// With results of an order and without gaps behind their lines.
Problem with_results_of(Problem p, Order order) {
  p.order_d = order;
  p.ldc = p.ldd = p.ldr = 0;
  return resolved(p);
}

}  // namespace

Problem with_row_major_results(const Problem& problem) {
  if (problem.order_d == Order::row_major) return problem;
  Problem p = problem;
  p.order_d = Order::row_major;
  p.kind.a = other(problem.kind.b);
  p.kind.b = other(problem.kind.a);
  std::swap(p.M, p.N);
  std::swap(p.lda, p.ldb);
  std::swap(p.aligned.A, p.aligned.B);
  std::swap(p.batch.stride_a, p.batch.stride_b);
  if (p.epilogue.bias != Bias::none)
    p.epilogue.bias = p.epilogue.bias == Bias::of_rows ? Bias::of_columns : Bias::of_rows;
  return p;
}

Problem with_plain_lines(Problem p) {
  const auto make_row_major = [](Order& order, std::int64_t rows, std::int64_t cols, std::int64_t& ld) {
    if (order == Order::row_major || rows != 1 || ld != 1) return;
    order = Order::row_major;
    ld = cols;
  };
  make_row_major(p.kind.a, p.M, p.K, p.lda);
  make_row_major(p.kind.b, p.K, p.N, p.ldb);
  if (p.order_d == Order::column_major && p.M == 1 && results_follow_each_other(p))
    p = with_results_of(p, Order::row_major);
  if (shape_of(p, Matrix::A).lines() == 1) p.lda = shape_of(p, Matrix::A).length();
  if (shape_of(p, Matrix::B).lines() == 1) p.ldb = shape_of(p, Matrix::B).length();
  return shape_of(p, Matrix::D).lines() == 1 ? with_results_of(p, p.order_d) : p;
}

Problem with_columns(Problem p) {
  if (p.kind.a == Order::row_major && p.K == 1 && p.lda == 1) {
    p.kind.a = Order::column_major;
    p.lda = p.M;
  }
  if (p.order_d == Order::row_major && p.N == 1 && results_follow_each_other(p))
    return with_results_of(p, Order::column_major);
  return p;
}

Operands with_row_major_results(const Problem& problem, Operands operands) {
  if (problem.order_d != Order::row_major) std::swap(operands.A, operands.B);
  return operands;
}

}  // namespace lapidary::library
