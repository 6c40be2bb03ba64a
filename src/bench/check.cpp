#include "bench/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "bench/parallel.hpp"
#include "bench/run.hpp"
#include "core/cluster_places.hpp"
#include "core/error.hpp"
#include "core/math.hpp"
#include "core/refusal.hpp"
#include "device/device.hpp"
#include "kernels/split.hpp"

namespace lapidary::bench {
namespace {

/// For kernels that do not cut the sum into tiles.
constexpr std::int64_t some_k = 8;
/// More tiles of the sum than most rings have stages.
constexpr std::int64_t many_tiles = 14;
/// More rows of tiles than any kernel walks together, and than the persistent blocks of so many multiprocessors take at
/// a time.
constexpr std::int64_t many_rows = 17;
constexpr int odd_multiprocessors = 5;
/// As many as 16 blocks need that share one sum, and more.
constexpr int many_multiprocessors = 19;
/// Of a host thread for a block of these small problems, before a kernel counts as one that never ends.
constexpr double most_seconds = 60;

RandomProblem sized(const GemmKind& kind, std::int64_t M, std::int64_t N, std::int64_t K) {
  return {.problem = {.kind = kind, .M = M, .N = N, .K = K}};
}

RandomProblem with_factors(RandomProblem spec, float alpha, float beta) {
  spec.alpha = alpha;
  spec.beta = beta;
  return spec;
}
RandomProblem with_beta(const RandomProblem& spec) { return with_factors(spec, -1.5f, 0.5f); }

/// Elements of a matrix in 16 bytes, at multiples of which vectors and lines of bulk copies begin.
std::int64_t vector_of(const Problem& p, Matrix matrix) { return 16 / size_of(shape_of(p, matrix).type); }

/// Each leading dimension is longer than a line by vectors of a number of its own, so that none can stand for another
/// one or for a size; or far longer still.
RandomProblem with_gaps(RandomProblem spec, std::int64_t far = 0) {
  Problem& p = spec.problem;
  int vectors = 0;
  for (const Matrix matrix : all_matrices) {
    const std::int64_t vector = vector_of(p, matrix);
    leading_dimension(p, matrix) = round_up(shape_of(p, matrix).length(), vector) + far + ++vectors * vector;
  }
  return spec;
}

RandomProblem with_four_lengths(const GemmKind& kind, std::int64_t M, std::int64_t N, std::int64_t K,
                                std::int64_t far = 0) {
  return with_beta(with_gaps(sized(kind, M, N, K), far));
}

/// One matrix alone begins so many elements off.
RandomProblem displaced(RandomProblem spec, Matrix matrix, std::int64_t elements) {
  const auto of = [&](Matrix other) { return other == matrix ? elements : 0; };
  spec.displacement = {of(Matrix::A), of(Matrix::B), of(Matrix::C), of(Matrix::D)};
  return spec;
}

/// One leading dimension alone is longer by so many elements.
RandomProblem with_longer_lines(RandomProblem spec, Matrix matrix, std::int64_t elements) {
  leading_dimension(spec.problem, matrix) += elements;
  return spec;
}

/// Each leading dimension is longer by a number of its own, and all bases are off their alignment.
RandomProblem scattered(RandomProblem spec) {
  Problem& p = spec.problem;
  p.lda = shape_of(p, Matrix::A).length() + 3;
  p.ldb = shape_of(p, Matrix::B).length() + 5;
  p.ldc = p.N + 1;
  p.ldd = p.N + 7;
  spec.displacement = displaced_by(1);
  return with_beta(spec);
}

/// Of a matrix of one line the leading dimension is never walked.
RandomProblem of_one_row(RandomProblem spec) {
  Problem& p = spec.problem;
  if (p.kind.a == Order::row_major) p.lda = p.K + 3;
  p.ldd = p.N + 5;
  return spec;
}

RandomProblem in_place(RandomProblem spec) {
  Problem& p = spec.problem;
  p.in_place = true;
  if (p.ldd != 0) p.ldc = p.ldd;
  return spec;
}

RandomProblem with_unread_c(RandomProblem spec) {
  spec.unread_c = true;
  return spec;
}

/// So many products. Matrices of each kind are apart by vectors of a number of their own, or by whole lines, or by far
/// more.
enum class Apart { vectors, lines, far };
RandomProblem in_batch(RandomProblem spec, std::int64_t count, Apart apart) {
  Problem& p = spec.problem;
  p = resolved(p);
  std::int64_t more = 0;
  const auto stride = [&](Matrix matrix) {
    const MatrixShape x = shape_of(p, matrix);
    const std::int64_t vector = vector_of(p, matrix);
    ++more;
    if (apart == Apart::lines) return (x.lines() + more) * x.ld;
    return round_up(x.extent(), vector) + more * vector + (apart == Apart::far ? std::int64_t{1} << 31 : 0);
  };
  p.batch = {.count = count,
             .stride_a = stride(Matrix::A),
             .stride_b = stride(Matrix::B),
             .stride_c = stride(Matrix::C),
             .stride_d = stride(Matrix::D)};
  if (p.in_place) p.batch.stride_c = p.batch.stride_d;
  return spec;
}

/// Of one product the parts of its K, as so many.
RandomProblem in_parts(RandomProblem spec, int parts) {
  spec = in_batch(std::move(spec), parts, Apart::vectors);
  spec.problem.split = parts;
  spec.problem.batch.stride_a = spec.problem.batch.stride_b = 0;
  return spec;
}

/// Problems of several products for a kernel that does them in one launch.
std::vector<CheckProblem> batches(const KernelEntry& kernel) {
  const std::int64_t m = kernel.tile.m, n = kernel.tile.n, k = kernel.tile.k, vector = 16 / size_of(kernel.kind.type),
                     down = m * kernel.cluster.down, across = n * kernel.cluster.across;
  const auto apart = [&](std::int64_t M, std::int64_t N, std::int64_t K) {
    return with_four_lengths(kernel.kind, M, N, K);
  };
  const RandomProblem several = in_batch(apart(m + vector, n + 2 * vector, 2 * k + vector), 3, Apart::vectors),
                      small = in_batch(apart(3 * vector, 5 * vector, 2 * vector), 4, Apart::vectors);
  const auto with = [](RandomProblem spec, std::int64_t Batch::*stride, std::int64_t value) {
    spec.problem.batch.*stride = value;
    return spec;
  };
  std::vector<CheckProblem> problems = {
      {several, "three products of several tiles"},
      {in_batch(apart(m - 1, n + vector, k + vector), 3, Apart::lines), "three products, whole lines apart; M is odd"},
      {in_batch(apart(2 * down + 1, vector, k), 2, Apart::vectors), "two products of three rows of clusters"},
      {in_batch(with_unread_c(with_factors(sized(kernel.kind, vector, 2 * across + vector, 3 * vector), 0.75f, 0)), 2,
                Apart::vectors),
       "two products of three columns of clusters; C is NaN, and beta is 0"},
      {with(small, &Batch::stride_a, 0), "products that share A"},
      {with(small, &Batch::stride_b, 0), "products that share B"},
      {with(small, &Batch::stride_c, small.problem.batch.stride_c + 1), "every other C off its alignment"},
      {in_batch(in_place(with_factors(apart(2 * vector, 3 * vector, vector), 0.75f, 1)), 3, Apart::vectors),
       "D is C; beta is 1"},
      {in_batch(apart(2 * vector, vector, 3 * vector), 3, Apart::far), "products beyond 32 bits of offsets"},
      {in_batch(apart(vector, 3 * vector, 2 * vector), 37, Apart::vectors), "many small products", odd_multiprocessors},
      {in_parts(apart(m + vector, n + 2 * vector, 7 * k + vector), 3), "three parts of K, the last one shorter"},
      {in_parts(apart(m - 1, vector, 2 * k + 1), 2), "two parts of K, one of which is a single step; M is odd"},
      {in_parts(with_unread_c(with_factors(sized(kernel.kind, vector, n + vector, 8 * k), 0.75f, 0)), 8),
       "eight parts of K; C is NaN, and beta is 0", odd_multiprocessors},
      {in_parts(apart(vector, 3 * vector, 37 * k - vector), 37), "many parts of K", odd_multiprocessors}};
  const auto refuse = [&](const RandomProblem& spec, std::string tries) {
    problems.push_back({.spec = spec, .tries = std::move(tries), .refused = true});
  };
  const auto in_two = [&](std::int64_t K) { return in_parts(apart(vector, 2 * vector, K), 2); };
  refuse(in_two(k), "a part without a step");
  refuse(in_two(std::int64_t{1} << 30), "parts of a K that 30 bits do not count");
  refuse(with(in_two(2 * k), &Batch::count, 3), "two parts of K, and three products");
  refuse(with(in_two(2 * k), &Batch::stride_a, vector), "two parts of K, and two A");
  refuse(with(in_two(2 * k), &Batch::stride_b, vector), "two parts of K, and two B");
  refuse(with(small, &Batch::stride_a, small.problem.batch.stride_a + vector / 2), "every other A off 16 bytes");
  refuse(with(small, &Batch::stride_b, small.problem.batch.stride_b + vector / 2), "every other B off 16 bytes");
  refuse(with(small, &Batch::stride_d, small.problem.batch.stride_d + 8 / size_of(kernel.kind.result)),
         "every other D off 16 bytes");
  refuse(with(small, &Batch::stride_a, std::int64_t{1} << 40), "A 2^41 bytes apart");
  refuse(with(small, &Batch::count, std::int64_t{1} << 24), "more products than 30 bits have rows for");
  return problems;
}

/// A problem of M rows, and of groups that end where it is said, whose B are a vector of elements apart.
RandomProblem in_groups(RandomProblem spec, std::vector<std::int64_t> ends) {
  Problem& p = spec.problem;
  p = resolved(p);
  p.groups = static_cast<int>(ends.size());
  const std::int64_t vector = vector_of(p, Matrix::B);
  p.batch.stride_b = round_up(shape_of(p, Matrix::B).extent(), vector) + vector;
  spec.group_ends = std::move(ends);
  return spec;
}

/// Where so many groups end, of which number i has rows(i).
template <class Rows>
std::vector<std::int64_t> ends_of(int groups, Rows&& rows) {
  std::vector<std::int64_t> ends;
  for (int i = 0; i < groups; ++i) ends.push_back((i == 0 ? 0 : ends.back()) + rows(i));
  return ends;
}

/// Problems for a kernel that does groups of products whose M are in device memory.
std::vector<CheckProblem> groups(const KernelEntry& kernel) {
  const std::int64_t m = kernel.tile.m, n = kernel.tile.n, k = kernel.tile.k, vector = 16 / size_of(kernel.kind.type);
  const auto apart = [&](std::int64_t M, std::int64_t N, std::int64_t K) {
    return with_four_lengths(kernel.kind, M, N, K);
  };
  // No group is as long as its neighbour, and none but the first begins at a multiple of a tile's rows.
  const std::int64_t sizes[] = {1, m - 1, 0, m, m + 1, 2 * m + 3, 0, 5};
  const auto several = ends_of(8, [&](int i) { return sizes[i]; });
  const auto some = ends_of(5, [&](int i) { return 3 * i + 1; });
  // Of three groups each, which are those of a lane of 70: the farthest end comes first, in the middle or last, or is
  // of a group of an earlier lane, and further by one row.
  std::vector<std::int64_t> decreasing(70);
  for (std::size_t lane = 0; lane + 6 < decreasing.size() / 3; lane += 6) {
    const auto height = static_cast<std::int64_t>(10 * lane / 3 + 12);
    const std::int64_t ends[] = {height, 0, 3, height + 1, height + 2, 0, 0, height + 1, 1, 0, 0, 2, 5, height + 9, 0};
    std::copy(std::begin(ends), std::end(ends), decreasing.begin() + static_cast<std::ptrdiff_t>(3 * lane));
  }
  const RandomProblem small = in_groups(apart(some.back(), 5 * vector, 2 * vector), some);
  const auto with = [](RandomProblem spec, auto change) {
    change(spec.problem);
    return spec;
  };
  int most = 1024;
  while (!refusal(kernel, with(small, [&](Problem& p) { p.groups = most; }).problem).empty()) most /= 2;
  std::vector<CheckProblem> problems = {
      {in_groups(apart(several.back(), n + 2 * vector, 2 * k + vector), several), "groups of a row to three tiles"},
      {in_groups(apart(several.back() + m + 7, vector, k), several), "groups with rows behind the last one",
       odd_multiprocessors},
      {in_groups(apart(m + 9, n + vector, vector), {0, 0, m + 2, m + 2}), "one group has all rows, and others none"},
      {in_groups(apart(2 * m + 9, 2 * n + vector, k + vector), {2 * m + 5}), "one group", odd_multiprocessors},
      {in_groups(apart(9, vector, vector), {0, 0, 0}), "groups without rows"},
      {in_groups(apart(74, vector, 3 * vector), ends_of(37, [](int i) { return i % 4; })), "many small groups",
       odd_multiprocessors},
      {in_groups(apart(130, vector, vector), ends_of(100, [](int i) { return i % 3; })), "more groups than lanes"},
      {in_groups(apart(90, vector, vector), decreasing), "more groups than lanes, ends that decrease"},
      {in_groups(apart(most, vector, vector), ends_of(most, [](int i) { return i % 16 == 7; })),
       "as many groups as there is room for"},
      {in_groups(with_unread_c(with_factors(sized(kernel.kind, several.back(), 3 * vector, 2 * vector), 0.75f, 0)),
                 several),
       "C is NaN, and beta is 0"},
      {in_groups(in_place(with_factors(apart(m + 12, 3 * vector, vector), 0.75f, 1)), {3, m + 4, m + 9}),
       "D is C; beta is 1"},
      {with(small, [](Problem& p) { p.batch.stride_b = 0; }), "groups that share B"},
      {in_groups(apart(m + 1, n + vector, vector), {7, 3, -5, m + 2, 4}), "ends that decrease, and that lie outside"},
      {in_groups(apart(m + 1, 2 * vector, vector), {-3, INT64_MIN + 90, INT64_MAX}), "ends that are not of 32 bits"},
      {with(small, [](Problem& p) { p.batch.stride_b += std::int64_t{1} << 31; }), "B beyond 32 bits of offsets"}};
  const auto refuse = [&](const RandomProblem& spec, std::string tries) {
    problems.push_back({.spec = spec, .tries = std::move(tries), .refused = true});
  };
  refuse(with(small, [&](Problem& p) { p.batch.stride_b += vector / 2; }), "every other B off 16 bytes");
  refuse(with(small, [](Problem& p) { p.batch.stride_b = std::int64_t{1} << 40; }), "B 2^41 bytes apart");
  refuse(in_groups(small, std::vector<std::int64_t>(static_cast<std::size_t>(most) + 1)), "one group more than that");
  refuse(in_groups(sized(kernel.kind, 255 * m, n << 20, vector), {1, 2, 3}),
         "more tiles than 28 bits can number, if each group begins with one");
  return problems;
}

/// What there is of problems where results are sums as they are: those that try factors alone are left out.
void keep_sums(std::vector<CheckProblem>& problems) {
  std::erase_if(problems, [](const CheckProblem& p) { return p.spec.alpha == 0 || p.spec.problem.in_place; });
  for (CheckProblem& problem : problems) problem.spec = with_factors(problem.spec, 1, 0);
}

/// Under one schedule.
Checked check_once(const Rung& rung, const KernelEntry& kernel, const CheckProblem& problem, std::uint64_t seed) {
  Checked checked;
  if (problem.refused) {
    try {
      checked = chosen(kernel, problem);
      checked.found = {"not refused", fmt::format("{} takes it, and no kernel may", checked.ran), seed};
    } catch (const Refusal& refusal) {
      checked.why = refusal.what();
    }
    return checked;
  }
  // One host thread: blocks that run at the same time would meet in another order each time.
  const std::unique_ptr<Device> device = open_emulator(
      {.multiprocessors = problem.multiprocessors, .check = true, .threads = 1, .seed = seed, .limit_s = most_seconds});
  try {
    Experiment experiment(*device, problem.spec);
    checked = chosen(kernel, problem);  // a fault leaves nobody to ask
    const Verification result = experiment.run(rung, kernel, Build::instrumented).verification;
    if (!result.ok) checked.found = {"wrong result", result.message, seed};
  } catch (const KernelFault& fault) {
    checked.found = {name_of(fault.kind()), fault.what(), seed};
  }
  return checked;
}

/// Few results and long sums, of which blocks share K.
std::vector<CheckProblem> long_sums(const KernelEntry& kernel) {
  // Of tiles so short that a block has several in its part, as many as 64 of K have.
  const std::int64_t n = kernel.tile.n, k = std::max(kernel.tile.k, 64);
  const std::int64_t vector = 16 / size_of(kernel.kind.type);
  const auto apart = [&](std::int64_t M, std::int64_t N, std::int64_t K) {
    return with_four_lengths(kernel.kind, M, N, K);
  };
  // Also what clusters of two, four and sixteen blocks share, and several rows and columns of tiles with them.
  const std::int64_t m = kernel.tile.m, least_k = kernel.split->least_k, most = KSplit::most * least_k;
  return {{apart(vector, n + vector, 17 * k + vector), "few results of a long sum", many_multiprocessors},
          {apart(5 * vector + 1, vector - 1, 9 * k + 1), "few results of a long sum; more rows than columns",
           odd_multiprocessors},
          {with_unread_c(with_factors(apart(2 * vector, 3 * vector, std::max(35 * k, most) + vector), 0.75f, 0)),
           "few results of a longer sum; C is NaN, and beta is 0", many_multiprocessors},
          {apart(m + vector, n + vector, 2 * least_k + vector), "four tiles of two blocks each", many_multiprocessors},
          {apart(m + 1, n + vector, 4 * least_k + vector), "four tiles of four blocks each; M is odd",
           many_multiprocessors},
          {with_longer_lines(apart(vector, n + vector, 9 * k + vector), Matrix::D, 1),
           "few results of a long sum; lines of D longer by one element", many_multiprocessors},
          {with_longer_lines(apart(vector, n + vector, 9 * k + vector), Matrix::C, 1),
           "few results of a long sum; lines of C longer by one element", many_multiprocessors}};
}

}  // namespace

std::vector<CheckProblem> check_problems(const GemmKind& kind, const TileShape& tile) {
  const std::int64_t m = tile.m, n = tile.n, k = tile.k ? tile.k : some_k;
  const std::int64_t vector = 16 / size_of(kind.type);  // of C and D as many elements are whole vectors, too
  const auto apart = [&](std::int64_t M, std::int64_t N, std::int64_t K, std::int64_t far = 0) {
    return with_four_lengths(kind, M, N, K, far);
  };
  const bool sums = kind.result == Type::s32;
  const auto tries = [&](const char* what, const char* factors) {
    return sums ? what : fmt::format("{}; {}", what, factors);
  };
  // Sizes of which no two are equal; of the even ones, in whole vectors, less than a tile or more. Numbers of 16 bits
  // are neither 0.7 nor 0.6.
  const RandomProblem odd = sized(kind, m + 1, n - 1, 2 * k), small = apart(3 * vector, 5 * vector, 2 * vector);
  const std::int64_t M = m + vector, N = n + 2 * vector, K = 2 * k + 3 * vector;
  std::vector<CheckProblem> problems = {
      {odd, "edges beside whole tiles; beta is 0"},
      {scattered(sized(kind, m - 1, n + 1, 3 * k - 1)), "long rows, bases off their alignment"},
      {apart(M, N, K), "whole vectors, lines of four lengths"},
      {with_factors(small, 2.5f, 0), sums ? "less than a tile" : "alpha alone"},
      {with_factors(small, 0, 1.75f), "beta alone"},
      {with_factors(odd, 0, 0), "neither alpha nor beta"},
      {with_unread_c(with_factors(small, 1, 0)), "C is NaN, and beta is 0"},
      {with_unread_c(with_factors(odd, 0.75f, 0)), "C is NaN, and beta is 0; edges beside whole tiles"},
      {with_factors(apart(M + vector / 2, N, K), 2.5f, -0.5f), tries("M between whole vectors", "beta is negative")},
      {with_factors(apart(M, N + vector / 2, K), 0.7f, 1), tries("N between whole vectors", "beta is 1")},
      {with_factors(apart(M, N, K + vector / 2), 1, 0.6f), tries("K between whole vectors", "alpha is 1")},
      {apart(M - 1, N + 1, K + 1), "all sizes off whole vectors, lines on them"},
      {with_factors(apart(3 * vector, 5 * vector + 1, 2 * vector), 0, 0.5f), "beta alone; N is odd"},
      {apart(2 * vector, 3 * vector, 4 * k + vector), "a sum that is longer than rows of D"},
      {scattered(sized(kind, 7, 5, 3 * k + 1)), "one product more than whole tiles of the sum"},
      {apart(vector, 3 * n + vector, 2 * vector), "one row of several tiles"},
      {apart(2, 5 * vector, 3 * vector), "two rows"},
  };
  // Results may be stored in smaller vectors than operands are loaded in.
  if (constexpr std::int64_t four = 4; vector > four)
    problems.push_back({with_factors(apart(M, N + four / 2, K), 0.75f, -0.5f), "N between vectors of four results"});
  for (const Matrix matrix : all_matrices) {
    const std::int64_t half = vector_of(small.problem, matrix) / 2;
    problems.push_back({displaced(small, matrix, half), fmt::format("{} off its alignment", name_of(matrix))});
    problems.push_back(
        {with_longer_lines(small, matrix, half), fmt::format("lines of {} off theirs", name_of(matrix))});
    if (matrix != Matrix::C)
      problems.push_back({with_factors(displaced(small, matrix, 1), 1, 0),
                          fmt::format("{} off by one element; beta is 0", name_of(matrix))});
  }
  // Where results are stored in pairs, C may stay unread.
  for (const Matrix matrix : {Matrix::C, Matrix::D}) {
    problems.push_back({with_factors(displaced(small, matrix, 1), 0, 0.5f),
                        fmt::format("{} off by one element; beta alone", name_of(matrix))});
    problems.push_back(
        {with_longer_lines(small, matrix, 1), fmt::format("lines of {} longer by one element", name_of(matrix))});
  }
  constexpr std::int64_t far = std::int64_t{1} << 31, fairly_far = std::int64_t{1} << 28;
  problems.insert(
      problems.end(),
      {{in_place(with_factors(small, 0.75f, 1)), "D is C; beta is 1"},
       {in_place(with_factors(sized(kind, 17, 13, 7), 1, 1)), "primes; D is C"},
       {with_beta(sized(kind, 5, 3, 0)), "no sum at all"},
       {with_beta(sized(kind, m + vector, n + vector, 0)), "no sum at all, by whole vectors"},
       {sized(kind, vector, 2 * vector, 0), "zeros"},
       {sized(kind, 1, 1, 1), "one product"},
       {of_one_row(sized(kind, 1, n, 2 * k)), "one row, whose length is its own"},
       {sized(kind, m, 1, k), "one column"},
       {apart(vector, 3 * vector, 2 * vector, far), "offsets beyond 32 bits"},
       {apart(vector, 3 * vector + 1, 2 * vector, far), "offsets beyond 32 bits; N is odd"},
       {apart(3, 5, 7, far + 1), "offsets beyond 32 bits; nothing aligned"},
       {apart(M, N, K, fairly_far), "offsets beyond 32 bits of steps within a tile"},
       {apart(m + 1, n - 1, 2 * k, fairly_far + 1), "offsets beyond 32 bits of steps within a tile; nothing aligned"},
       {apart(m + vector, n + vector, many_tiles * k + vector), "long sums of several tiles"},
       {apart((many_rows - 1) * m + vector, n + vector, vector), "many rows of tiles", odd_multiprocessors}});
  if (sums) keep_sums(problems);
  return problems;
}

std::vector<CheckProblem> check_problems(const KernelEntry& kernel) {
  std::vector<CheckProblem> problems = check_problems(kernel.kind, kernel.tile);
  if (kernel.batches)
    for (CheckProblem& problem : batches(kernel)) problems.push_back(std::move(problem));
  if (kernel.groups)
    for (CheckProblem& problem : groups(kernel)) problems.push_back(std::move(problem));
  if (kernel.stages >= many_tiles)
    problems.push_back({with_four_lengths(kernel.kind, kernel.tile.m + 1, kernel.tile.n,
                                          std::int64_t{kernel.stages + 2} * kernel.tile.k),
                        "more steps than stages"});
  const auto [down, across] = kernel.cluster;
  if (down * across > 1) {
    // Of the last tiles as little as may be, and of others of their clusters nothing; of steps more than there are
    // stages, and than few_steps.
    const auto whole = [](int tile, int blocks) { return std::int64_t{tile} * (blocks == 2 ? 2 : 1); };
    const std::int64_t M = whole(kernel.tile.m, down) + 1,
                       N = whole(kernel.tile.n, across) + 16 / size_of(kernel.kind.type),
                       K = std::int64_t{std::max(kernel.stages, few_steps) + 1} * kernel.tile.k;
    problems.push_back(
        {with_four_lengths(kernel.kind, M, N, K), "a row of the last tiles; D has nothing of others beside"});
  }
  // A cluster takes a multiprocessor for each block, and clusters that stay take several of a problem's tiles each.
  for (CheckProblem& problem : problems)
    problem.multiprocessors = std::max(problem.multiprocessors, kernel.cluster.down * kernel.cluster.across);
  if (kernel.split)
    for (CheckProblem& problem : long_sums(kernel)) problems.push_back(std::move(problem));
  if (kernel.kind.result == Type::s32) keep_sums(problems);
  return problems;
}

std::vector<CheckProblem> check_problems(const GemmKind& kind, std::int64_t M, std::int64_t N, std::int64_t K) {
  std::vector<CheckProblem> problems = {{sized(kind, M, N, K), "as it is; C is null"},
                                        {with_four_lengths(kind, M, N, K), "whole vectors, lines of four lengths"},
                                        {scattered(sized(kind, M, N, K)), "long rows, bases off their alignment"}};
  if (kind.result == Type::s32) keep_sums(problems);
  return problems;
}

Checked chosen(const KernelEntry& kernel, const CheckProblem& problem) {
  const Choice choice = choose(kernel, resolve(problem.spec).problem);
  return {.found = {}, .ran = choice.kernel->id(), .why = choice.why};
}

Checked check(const Rung& rung, const KernelEntry& kernel, const CheckProblem& problem, std::uint64_t seed,
              int schedules) {
  // A few at a time: each is a machine, and with lines that are far apart it takes many of the host's addresses.
  constexpr int most_at_a_time = 4;
  Checked checked;
  for (int done = 0; done < schedules && !checked.found; done += most_at_a_time) {
    std::vector<Checked> some(static_cast<std::size_t>(std::min(most_at_a_time, schedules - done)));
    parallel_for(std::ssize(some), [&](std::int64_t i) {
      some[static_cast<std::size_t>(i)] = check_once(rung, kernel, problem,
                                                     seed + static_cast<std::uint64_t>(done + i));
    });
    const auto first = std::find_if(some.begin(), some.end(), [](const Checked& one) { return one.found.has_value(); });
    checked = first != some.end() ? *first : some.back();
  }
  return checked;
}

}  // namespace lapidary::bench
