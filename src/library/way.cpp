#include "library/way.hpp"

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <utility>

#include "core/math.hpp"

namespace lapidary::library {
namespace {

/// What lines of copies begin at multiples of: a line of the caches.
constexpr int line_bytes = 128;

/// Of a matrix of a batch: the next one begins `stride` elements further on.
int alignment_of(int base, const Batch& batch, std::int64_t stride, Type type) {
  if (batch.count == 1) return base;
  // Of what is not read the stride may be any.
  return static_cast<int>(std::gcd(std::int64_t{base}, stride % base * size_of(type)));
}

/// One product of a batch.
Problem one_of(const Problem& batch) {
  Problem p = batch;
  const auto at = [&](int base, std::int64_t stride, Type type) {
    return alignment_of(base, batch.batch, stride, type);
  };
  p.aligned = {at(p.aligned.A, p.batch.stride_a, p.kind.type), at(p.aligned.B, p.batch.stride_b, p.kind.type),
               at(p.aligned.C, p.batch.stride_c, p.kind.result), at(p.aligned.D, p.batch.stride_d, p.kind.result)};
  p.batch = {};
  // Without products neither A nor B is read.
  if (p.alpha == Factor::zero) p.K = 0;
  return p;
}

/// Has a matrix copied behind what the workspace holds already. @returns whether it is not too large for that
bool pack(Way& way, std::optional<PackedMatrix>& packed, const MatrixShape& from, Order order) {
  if (from.empty()) return true;
  if (!can_pack(from.rows, from.cols)) return false;
  MatrixShape to = from;
  to.order = order;
  const std::int64_t ld = aligned_ld(from.type, to.length(), line_bytes);
  packed = {{from.type, from.rows, from.cols, from.order, order, from.ld, ld}, way.workspace_bytes};
  const std::int64_t bytes = to.lines() * ld * size_of(from.type);
  way.workspace_bytes += static_cast<std::size_t>(round_up<std::int64_t>(bytes, workspace_alignment));
  return true;
}

bool lines_aligned(const MatrixShape& x, int base) {
  return base % 16 == 0 && x.ld * size_of(x.type) % 16 == 0 && x.length() * size_of(x.type) % 16 == 0;
}

}  // namespace

std::optional<Way> way_of(const Problem& batch, const LibraryKernel& library_kernel, bool packs_a, bool packs_b,
                          BrokenRule* broken) {
  const KernelEntry& kernel = *library_kernel.kernel;
  if (kernel.kind.type != batch.kind.type || kernel.kind.result != batch.kind.result) return {};
  Way way;
  way.kernel = &library_kernel;
  way.problem = one_of(batch);
  Problem& p = way.problem;
  // The lines of a matrix without elements have no order.
  const auto fits = [&](Matrix matrix, Order order) {
    const MatrixShape x = shape_of(p, matrix);
    return x.order == order || x.empty();
  };
  if ((!packs_a && !fits(Matrix::A, kernel.kind.a)) || (!packs_b && !fits(Matrix::B, kernel.kind.b))) return {};
  const MatrixShape a = shape_of(p, Matrix::A), b = shape_of(p, Matrix::B);
  const auto copied = [&](std::optional<PackedMatrix>& packed, const MatrixShape& from, Order order) {
    if (pack(way, packed, from, order)) return true;
    if (broken)
      *broken = {RefusalId::shape_copy,
                 fmt::format("{} x {} elements are to be copied; copies have at most 2^31 - 1 tiles of 64 x 64",
                             from.rows, from.cols)};
    return false;
  };
  if (packs_a && !copied(way.a, a, kernel.kind.a)) return {};
  if (packs_b && !copied(way.b, b, kernel.kind.b)) return {};
  p.kind = kernel.kind;
  const auto ld = [&](Matrix matrix, const MatrixShape& before, const std::optional<PackedMatrix>& packed) {
    return packed ? packed->packing.to_ld : before.empty() ? shape_of(p, matrix).length() : before.ld;
  };
  p.lda = ld(Matrix::A, a, way.a);
  p.ldb = ld(Matrix::B, b, way.b);
  if (way.a) p.aligned.A = workspace_alignment;
  if (way.b) p.aligned.B = workspace_alignment;
  if (std::string why = refusal(kernel, p); !why.empty()) {
    if (broken) *broken = {RefusalId::kernel_problem, std::move(why)};
    return {};
  }
  return way;
}

std::vector<Way> ways_of(const Problem& problem, int compute_capability) {
  std::vector<Way> ways;
  const bool nothing = problem.K == 0 || problem.alpha == Factor::zero;
  const bool a_aligned = lines_aligned(shape_of(problem, Matrix::A), problem.aligned.A),
             b_aligned = lines_aligned(shape_of(problem, Matrix::B), problem.aligned.B);
  for (const LibraryKernel& library_kernel : library_kernels()) {
    const GemmKind& kind = library_kernel.kernel->kind;
    if (kind.type != problem.kind.type || kind.result != problem.kind.result) continue;
    if (!library_kernel.rung->runs_on(compute_capability, kind)) continue;
    const bool turns_a = kind.a != problem.kind.a, turns_b = kind.b != problem.kind.b;
    for (const bool packs_a : {false, true})
      for (const bool packs_b : {false, true}) {
        if (packs_a && (nothing || (!turns_a && a_aligned))) continue;
        if (packs_b && (nothing || (!turns_b && b_aligned))) continue;
        if (auto way = way_of(problem, library_kernel, packs_a, packs_b)) ways.push_back(*std::move(way));
      }
  }
  return ways;
}

}  // namespace lapidary::library
