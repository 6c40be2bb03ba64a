#include "library/canonical.hpp"

#include <algorithm>
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
  const auto make_column_major = [](Order& order, std::int64_t rows, std::int64_t cols, std::int64_t& ld) {
    if (order == Order::column_major || rows == 1 || cols != 1 || ld != 1) return;
    order = Order::column_major;
    ld = rows;
  };
  make_column_major(p.kind.a, p.M, p.K, p.lda);
  make_column_major(p.kind.b, p.K, p.N, p.ldb);
  if (p.order_d == Order::column_major && p.M == 1 && results_follow_each_other(p))
    p = with_results_of(p, Order::row_major);
  if (shape_of(p, Matrix::A).lines() == 1) p.lda = shape_of(p, Matrix::A).length();
  if (shape_of(p, Matrix::B).lines() == 1) p.ldb = shape_of(p, Matrix::B).length();
  return shape_of(p, Matrix::D).lines() == 1 ? with_results_of(p, p.order_d) : p;
}

Problem with_a_column_as_row(Problem p) {
  if (p.order_d != Order::row_major || p.N != 1 || !results_follow_each_other(p)) return p;
  return with_results_of(p, Order::column_major);
}

Problem with_a_row_as_column(Problem p) {
  return p.order_d == Order::row_major && p.M == 1 ? with_results_of(p, Order::column_major) : p;
}

Problem with_products_joined(Problem p) {
  const Batch batch = p.batch;
  if (batch.count <= 1) return p;
  const auto are_lines = [](const MatrixShape& x, bool along_rows) {
    return (x.order == Order::row_major) == along_rows;
  };
  // Whether a matrix's next line along M, or along N, after the last one of a product is the next product's first;
  // where a product has a single line, the next one begins wherever the next product's does.
  const auto go_on = [&](const MatrixShape& x, std::int64_t stride, bool along_rows) {
    const bool lines = are_lines(x, along_rows);
    if (x.lines() == 1) return lines ? stride >= x.length() : stride == x.length();
    const std::int64_t length = along_rows ? x.rows : x.cols;
    std::int64_t whole = 0, joined = 0;
    if (__builtin_mul_overflow(length, lines ? x.ld : 1, &whole) ||
        __builtin_mul_overflow(length, batch.count, &joined))
      return false;
    return stride == whole && (lines || joined <= x.ld);
  };
  // From one line to the next of all products' matrices, which go on.
  const auto pitch = [&](const MatrixShape& x, std::int64_t stride, bool along_rows) {
    if (x.lines() != 1) return x.ld;
    return are_lines(x, along_rows) ? stride : x.length() * batch.count;
  };
  const MatrixShape a = shape_of(p, Matrix::A), b = shape_of(p, Matrix::B), c = shape_of(p, Matrix::C),
                    d = shape_of(p, Matrix::D), residual = shape_of_residual(p);
  // Without products neither A nor B is read.
  const bool nothing = p.K == 0 || p.alpha == Factor::zero;
  const auto join = [&](bool along_rows) {
    if (p.epilogue.bias == (along_rows ? Bias::of_rows : Bias::of_columns)) return false;
    if (!nothing) {
      const bool shared = (along_rows ? batch.stride_b : batch.stride_a) == 0;
      if (!shared || !(along_rows ? go_on(a, batch.stride_a, true) : go_on(b, batch.stride_b, false))) return false;
    }
    if (!go_on(d, batch.stride_d, along_rows) || (p.reads_c() && !go_on(c, batch.stride_c, along_rows)) ||
        (p.epilogue.residual && !go_on(residual, batch.stride_residual, along_rows)))
      return false;
    (along_rows ? p.lda : p.ldb) = along_rows ? pitch(a, batch.stride_a, true) : pitch(b, batch.stride_b, false);
    p.ldd = pitch(d, batch.stride_d, along_rows);
    p.ldc = p.reads_c() ? pitch(c, batch.stride_c, along_rows) : p.ldd;
    if (p.epilogue.residual) p.ldr = pitch(residual, batch.stride_residual, along_rows);
    (along_rows ? p.M : p.N) *= batch.count;
    p.batch = {};
    if (nothing) p.lda = p.ldb = 0;
    return true;
  };
  return join(true) || join(false) ? resolved(p) : p;
}

std::vector<Problem> forms_of(const Problem& problem) {
  std::vector<Problem> forms = {problem};
  const auto add = [&](const Problem& form) {
    if (std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
  };
  const auto joined = [](const Problem& batch) { return with_plain_lines(with_products_joined(batch)); };
  const Problem one = joined(problem);
  add(one);
  for (const Problem& of_columns : {problem, one}) {
    const Problem as_row = with_a_column_as_row(of_columns);
    add(as_row);
    add(joined(as_row));
  }
  // Few kernels of f32 read a column-major B; as A it is a row-major one.
  if (problem.kind.type == Type::f32) add(with_a_row_as_column(problem));
  return forms;
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
