#include "library/canonical.hpp"

#include <utility>

namespace lapidary::library {
namespace {

constexpr Order other(Order order) { return order == Order::row_major ? Order::column_major : Order::row_major; }

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

Operands with_row_major_results(const Problem& problem, Operands operands) {
  if (problem.order_d != Order::row_major) std::swap(operands.A, operands.B);
  return operands;
}

}  // namespace lapidary::library
