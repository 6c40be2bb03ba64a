#include "library/way.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster_places.hpp"
#include "core/math.hpp"
#include "kernels/finishing.hpp"
#include "kernels/split.hpp"
#include "kernels/streamed.hpp"

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

/// One product of a batch, aligned as all are.
Problem one_of(const Problem& batch) {
  Problem p = batch;
  const auto at = [&](int base, std::int64_t stride, Type type) {
    return alignment_of(base, batch.batch, stride, type);
  };
  p.aligned = {at(p.aligned.A, p.batch.stride_a, p.kind.type), at(p.aligned.B, p.batch.stride_b, p.kind.type),
               at(p.aligned.C, p.batch.stride_c, p.kind.result), at(p.aligned.D, p.batch.stride_d, p.kind.result)};
  p.batch = {.stride_b = p.groups > 0 ? p.batch.stride_b : 0};
  // Without products neither A nor B is read.
  if (p.alpha == Factor::zero) p.K = 0;
  return p;
}

/// What a kernel that does a whole batch is given of it.
Batch launched(const Problem& p) {
  Batch batch = p.batch;
  batch.stride_residual = 0;
  if (!p.reads_c()) batch.stride_c = 0;
  return batch;
}

/// Makes the workspace longer by a matrix, of which bytes are counted in 63 bits.
void reserve(Way& way, const MatrixShape& x) {
  way.workspace_bytes += static_cast<std::size_t>(
      round_up<std::int64_t>(x.lines() * x.ld * size_of(x.type), workspace_alignment));
}

/// Has a matrix copied behind what the workspace holds already, unless the copy is there. @returns whether it is not
/// too large for that
bool pack(Way& way, std::optional<PackedMatrix>& packed, const MatrixShape& from, Order order, bool prepared) {
  if (from.empty()) return true;
  if (!can_pack(from.rows, from.cols)) return false;
  MatrixShape to = from;
  to.order = order;
  to.ld = aligned_ld(from.type, to.length(), line_bytes);
  packed = {{from.type, from.rows, from.cols, from.order, order, from.ld, to.ld}, way.workspace_bytes, prepared};
  if (!prepared) reserve(way, to);
  return true;
}

/// Whether kernels store alpha * A * B + beta * C of a problem: with factors that the host has, as f32 or in the type
/// of A and B; or A * B, as s32.
bool is_stored(const Problem& p) {
  return (p.kind.result == Type::f32 || p.kind.result == p.kind.type || p.kind.result == Type::s32) &&
         p.alpha != Factor::in_device_memory && p.beta != Factor::in_device_memory;
}

/// Into how many parts K is split at most, if an id does not say otherwise.
constexpr std::int64_t most_parts = 64;
/// ... and if it does.
constexpr std::int64_t most_parts_told = 1 << 16;

/// In how many parts of K a kernel that does batches computes a product, so that blocks have as little to do as may be,
/// and the second launch not more than is gained by that; 1 if D has tiles enough, or K too few steps.
/// @param most  that there may be
int parts_of(const KernelEntry& kernel, const Problem& p, int multiprocessors, std::int64_t most) {
  const auto [rows, columns] = tiles_of(kernel, p.M, p.N);
  const std::int64_t tiles = rows * columns, places = multiprocessors_for(kernel.cluster, multiprocessors),
                     unit = kernel.tile.k, steps = ceil_div<std::int64_t>(p.K, unit);
  constexpr std::int64_t most_k = (std::int64_t{1} << 30) - 1, least_steps = 4;
  // Of 137 ways that were timed with tiles for half of the card and more, one gained anything by parts: 4 %.
  if (2 * tiles > places || steps < 2 * least_steps || p.K > most_k) return 1;
  // In microseconds on an H200: a tile's step, a tile besides its steps, and sums that are written and read again.
  const double step = std::max(0.2, 1.0 * kernel.tile.m * kernel.tile.n * unit / 3.3e6);
  constexpr double start = 2;
  const double sums = 2.0 * size_of(Type::f32) * static_cast<double>(p.M) * static_cast<double>(p.N) / 3e6;
  int best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t parts = 2; parts <= std::min(most, steps / least_steps); ++parts) {
    const std::int64_t of_each = ceil_div(steps, parts), rounds = ceil_div(tiles * parts, places);
    const double time = static_cast<double>(rounds) * (start + step * static_cast<double>(of_each)) +
                        sums * static_cast<double>(parts);
    // Of parts that have a step each there may be fewer.
    if (ceil_div(steps, of_each) != parts || time >= least) continue;
    least = time;
    best = static_cast<int>(parts);
  }
  return best;
}

/// Whether a kernel that takes a product computes it in parts: what there is more than one of it does in one launch.
bool splits(const KernelEntry& kernel, const Problem& batch) {
  return kernel.batches && batch.batch.count == 1 && batch.groups == 0 && kernel.kind.result == Type::f32;
}

/// Whether all lines begin at multiples of 16 bytes, and so near to each other as bulk copies count.
bool lines_begin(const MatrixShape& x, int base) {
  const std::int64_t pitch = x.ld * size_of(x.type);
  return base % 16 == 0 && (x.lines() <= 1 || (pitch % 16 == 0 && pitch < std::int64_t{1} << 40));
}

/// Whether lines of results begin where no bulk copy stores them.
bool results_begin_anywhere(const Problem& p) { return !lines_begin(shape_of(p, Matrix::D), p.aligned.D); }

/// Whether sums of a product may be made for which a second launch has no other use than to store results of 16 bits
/// whose lines begin anywhere.
bool is_for_another_to_store(const Problem& batch) {
  return size_of(batch.kind.result) == 2 && !needs_finishing(batch) && batch.batch.count == 1 && batch.groups == 0 &&
         results_begin_anywhere(batch);
}
/// ... and whether a kernel makes such sums.
bool stores_for_another(const LibraryKernel& kernel, const Problem& batch) {
  return kernel.kernel->kind.result == Type::f32 && is_for_another_to_store(batch);
}

/// Has the kernel store sums for a second launch, which may be where results will be unless there are several parts, or
/// something else that is read then is there too. @returns whether D is not too large for that
bool finish_later(Way& way, int parts) {
  Problem& p = way.problem;
  if (!can_finish(p.M, p.N, parts) || parts > most_parts_told) return false;
  if (p.K == 0) p.alpha = Factor::zero;  // infinitely many times no products are none
  way.finishing = {p, parts == 1 && p.kind.result == Type::f32 && !p.epilogue.residual && !(p.in_place && p.reads_c()),
                   way.workspace_bytes};
  p.kind.result = Type::f32;
  p.alpha = Factor::one;
  p.beta = Factor::zero;
  p.in_place = false;
  p.epilogue = {};
  p.ldr = 0;
  if (way.finishing->in_d) return true;
  p.ldd = aligned_ld(Type::f32, p.N, line_bytes);
  p.aligned.D = workspace_alignment;
  MatrixShape sums = shape_of(p, Matrix::D);
  p.split = parts;
  if (parts > 1) p.batch = {.count = parts, .stride_d = sums.rows * sums.ld};
  sums.rows *= parts;
  reserve(way, sums);
  return true;
}

/// Whether a kernel does itself what an epilogue of a problem asks for.
bool finishes(const Problem& p, const LibraryKernel& kernel) { return kernel.kernel->finishes && is_for_finishing(p); }

/// What of the workspace the sums of a part of K take.
std::size_t bytes_of_a_part(const Way& way) {
  return static_cast<std::size_t>(way.problem.batch.stride_d * size_of(way.problem.kind.result));
}

bool lines_aligned(const MatrixShape& x, int base) {
  return lines_begin(x, base) && x.ld * size_of(x.type) % 16 == 0 && x.length() * size_of(x.type) % 16 == 0;
}

/// Whether a copy of a matrix, whose lines begin at multiples of 16 bytes, is weighed so that they begin at multiples
/// of 128: where it is short beside what else takes time.
bool is_worth_straightening(const MatrixShape& x, const MatrixShape& other, const MatrixShape& d) {
  const bool crooked = x.lines() > 1 && x.ld * size_of(x.type) % line_bytes != 0;
  const auto bytes = [](const MatrixShape& of) { return static_cast<double>(of.bytes()); };
  const double products = std::sqrt(bytes(x) * bytes(other) * bytes(d));
  return crooked && x.bytes() <= other.bytes() / 4 && products > 1e10;
}

/// With which copies there are ways by kernels that differ in the orders of A and B alone.
class Found {
 public:
  void add(const LibraryKernel& kernel, const PackedOperands& packs) {
    if (kernel.family >= packs_of_.size()) packs_of_.resize(kernel.family + 1);
    packs_of_[kernel.family] |= bit(packs.a, packs.b);
  }
  /// Whether there is one with the same copies but for some of those in vain.
  bool with_fewer(const LibraryKernel& kernel, const PackedOperands& packs, const PackedOperands& in_vain) const {
    if (kernel.family >= packs_of_.size()) return false;
    const bool a = packs.a && in_vain.a, b = packs.b && in_vain.b;
    const unsigned fewer = (a ? bit(false, packs.b) : 0) | (b ? bit(packs.a, false) : 0) |
                           (a && b ? bit(false, false) : 0);
    return packs_of_[kernel.family] & fewer;
  }

 private:
  static unsigned bit(bool a, bool b) { return 1U << (2 * a + b); }

  std::vector<unsigned> packs_of_;
};

}  // namespace

bool needs_finishing(const Problem& p) { return !is_stored(p) || p.epilogue != Epilogue{}; }

bool is_for_finishing(const Problem& problem) { return is_stored(problem) && problem.epilogue != Epilogue{}; }

Type stored_type(const Problem& problem) { return needs_finishing(problem) ? Type::f32 : problem.kind.result; }

Type stored_type(const Problem& problem, const LibraryKernel& kernel) {
  if (splits(*kernel.kernel, problem) || stores_for_another(kernel, problem)) return Type::f32;
  return kernel.as_parent || finishes(problem, kernel) ? problem.kind.result : stored_type(problem);
}

namespace {

/// way_of(), in the place of another way: those of all kernels take long to be cleared first. @returns whether there
/// is one; if not, what is in its place is none
bool make_way(Way& way, const Problem& batch, const LibraryKernel& library_kernel, int multiprocessors,
              const PackedOperands& packs, const PackedOperands& prepared, int asked_parts, BrokenRule* broken) {
  const KernelEntry& kernel = *library_kernel.kernel;
  if (kernel.kind.type != batch.kind.type) return false;
  const bool split = splits(kernel, batch);
  if (kernel.kind.result != stored_type(batch, library_kernel)) return false;
  if (library_kernel.as_parent && !is_for_finishing(batch)) {
    if (broken)
      *broken = {RefusalId::kernel_problem,
                 "it is for products with an epilogue, of factors that the host has; its parent computes others"};
    return false;
  }
  const bool in_one_launch = kernel.batches && !split && (library_kernel.for_batches || batch.batch.count > 1);
  if (in_one_launch && (batch.batch.count == 1 || packs.a || packs.b || needs_finishing(batch) || batch.split != 1)) {
    if (broken)
      *broken = {RefusalId::kernel_problem,
                 "it is for batches of several products, of A and B as they are and without an epilogue"};
    return false;
  }
  if (batch.groups > 0 && !kernel.groups) {
    if (broken) *broken = unsupported(one_of(batch)).value();
    return false;
  }
  if (kernel.groups && (batch.groups == 0 || packs.a || packs.b || needs_finishing(batch))) {
    if (broken)
      *broken = {RefusalId::kernel_problem,
                 "it is for groups of products whose M are in device memory, of A and B as they are"};
    return false;
  }
  if (kernel.split && kernel.split->bytes_on_their_way > 0) {
    const bool a = streams_a(kernel.tile);
    const std::int64_t size = short_side(kernel.tile, batch), of_tile = short_side(kernel.tile);
    if (size > of_tile) {
      if (broken)
        *broken = {RefusalId::kernel_problem,
                   fmt::format("{} is {}; {} would be read again for each {} {}, and is to be read once", a ? 'N' : 'M',
                               size, a ? 'A' : 'B', of_tile, a ? "columns" : "rows")};
      return false;
    }
  }
  way.kernel = &library_kernel;
  way.problem = one_of(batch);
  way.a.reset();
  way.b.reset();
  way.finishing.reset();
  way.workspace_bytes = 0;
  Problem& p = way.problem;
  const int parts = !split || batch.split != 1 ? 1
                    : asked_parts > 0          ? asked_parts
                                               : parts_of(kernel, p, multiprocessors, most_parts);
  if (split && parts == 1) {
    if (broken)
      *broken = {
          RefusalId::kernel_problem,
          fmt::format("it is for batches of several products, or of the parts of a long K of few tiles; M, N and K "
                      "are {}, {} and {}{}",
                      p.M, p.N, batch.K, batch.alpha == Factor::zero ? ", and alpha is 0" : "")};
    return false;
  }
  // The lines of a matrix without elements have no order.
  const auto fits = [&](Matrix matrix, Order order) {
    const MatrixShape x = shape_of(p, matrix);
    return x.order == order || x.empty();
  };
  if ((!packs.a && !fits(Matrix::A, kernel.kind.a)) || (!packs.b && !fits(Matrix::B, kernel.kind.b))) {
    if (broken)
      *broken = {RefusalId::kernel_problem, fmt::format("A and B are of {}, and without copies it takes {}",
                                                        to_string(batch.kind), to_string(kernel.kind))};
    return false;
  }
  const bool sums = split || needs_finishing(batch) || stores_for_another(library_kernel, batch);
  if (!finishes(batch, library_kernel) && sums && !finish_later(way, parts)) {
    if (broken)
      *broken = {RefusalId::shape_tiles,
                 fmt::format("{} x {} results are to be made in a second launch; it numbers at most 2^31 - 1 tiles of "
                             "32 x 128",
                             p.M, p.N)};
    return false;
  }
  const MatrixShape a = shape_of(p, Matrix::A), b = shape_of(p, Matrix::B);
  const auto copied = [&](std::optional<PackedMatrix>& packed, const MatrixShape& from, Order order, bool asked,
                          std::int64_t stride) {
    // Of a batch there would be as many copies.
    if (pack(way, packed, from, order, asked && (batch.batch.count == 1 || stride == 0))) return true;
    if (broken)
      *broken = {RefusalId::shape_copy,
                 fmt::format("{} x {} elements are to be copied; copies have at most 2^31 - 1 tiles of 64 x 64",
                             from.rows, from.cols)};
    return false;
  };
  if (packs.a && !copied(way.a, a, kernel.kind.a, prepared.a, batch.batch.stride_a)) return false;
  if (packs.b && !copied(way.b, b, kernel.kind.b, prepared.b, batch.batch.stride_b)) return false;
  p.kind = kernel.kind;
  const auto ld = [&](Matrix matrix, const MatrixShape& before, const std::optional<PackedMatrix>& packed) {
    return packed ? packed->packing.to_ld : before.empty() ? shape_of(p, matrix).length() : before.ld;
  };
  p.lda = ld(Matrix::A, a, way.a);
  p.ldb = ld(Matrix::B, b, way.b);
  if (way.a) p.aligned.A = workspace_alignment;
  if (way.b) p.aligned.B = workspace_alignment;
  if (in_one_launch) p.batch = launched(batch);
  if (std::string why = refusal(kernel, p); !why.empty()) {
    if (broken) *broken = {RefusalId::kernel_problem, std::move(why)};
    return false;
  }
  return true;
}

}  // namespace

std::size_t Way::least_workspace_bytes() const {
  if (parts() == 1) return workspace_bytes;
  const std::size_t part = bytes_of_a_part(*this);
  return workspace_bytes - round_up<std::size_t>(part * static_cast<std::size_t>(parts()), workspace_alignment) +
         2 * part;
}

std::optional<Way> way_of(const Problem& problem, const LibraryKernel& kernel, int multiprocessors,
                          const PackedOperands& packs, const PackedOperands& prepared, int parts, BrokenRule* broken) {
  std::optional<Way> way(std::in_place);
  if (!make_way(*way, problem, kernel, multiprocessors, packs, prepared, parts, broken)) way.reset();
  return way;
}

void each_way(const Problem& problem, const model::Gpu& gpu, const PackedOperands& prepared,
              std::size_t workspace_bytes, bool turned, const std::function<Verdict(const LibraryKernel&)>& judge,
              const std::function<void(const Way&)>& take) {
  const bool nothing = problem.K == 0 || problem.alpha == Factor::zero;
  const std::size_t room = workspace_bytes / workspace_alignment * workspace_alignment;
  const Problem one = one_of(problem);
  const MatrixShape a = shape_of(one, Matrix::A), b = shape_of(one, Matrix::B), d = shape_of(one, Matrix::D);
  const bool a_aligned = lines_aligned(a, one.aligned.A) && !is_worth_straightening(a, b, d),
             b_aligned = lines_aligned(b, one.aligned.B) && !is_worth_straightening(b, a, d);
  const bool a_begins = lines_begin(a, one.aligned.A), b_begins = lines_begin(b, one.aligned.B),
             d_begins = lines_begin(d, one.aligned.D);
  const Type stored = stored_type(problem);
  const bool finished_later = needs_finishing(problem), sums_for_another = is_for_another_to_store(problem);
  const auto is_long = [](const MatrixShape& x) { return x.length() * size_of(x.type) >= line_bytes; };
  Found found;
  Way way;
  const auto of_kernel = [&](const LibraryKernel& known) {
    const GemmKind& kind = known.kernel->kind;
    const bool split = splits(*known.kernel, problem);
    const bool for_another = sums_for_another && kind.result == Type::f32;
    if (kind.result != stored && kind.result != problem.kind.result && !split && !for_another) return;
    if (!known.rung->runs_on(gpu.compute_capability, kind)) return;
    const bool turns_a = kind.a != a.order, turns_b = kind.b != b.order;
    // What way_of() would refuse as well, in words, which take longer than all else here.
    const bool reads_a = (!turns_a || a.empty()) && (a_begins || !known.bulk_a),
               reads_b = (!turns_b || b.empty()) && (b_begins || !known.bulk_b);
    if (!d_begins && known.bulk_d && !split && !for_another && (!finished_later || finishes(problem, known))) return;
    // Copies that are of no use but to turn lines to kernels of warpgroups, which take as long whatever the orders are;
    // unless they make long lines of short ones.
    const bool of_warpgroups = !turned && known.cost->depth == 0;
    const PackedOperands in_vain{of_warpgroups && turns_a && a_aligned && is_long(a) && !prepared.a,
                                 of_warpgroups && turns_b && b_aligned && is_long(b) && !prepared.b};
    for (const bool packs_a : {false, true})
      for (const bool packs_b : {false, true}) {
        if (packs_a ? nothing || (!turns_a && a_aligned) : !reads_a) continue;
        if (packs_b ? nothing || (!turns_b && b_aligned) : !reads_b) continue;
        const PackedOperands packs{packs_a, packs_b};
        if (found.with_fewer(known, packs, in_vain)) continue;
        const Verdict verdict = judge(known);
        if (verdict == Verdict::leave_out) return;
        if (verdict == Verdict::hopeless) {
          found.add(known, packs);
          continue;
        }
        const auto make = [&](int parts) {
          return make_way(way, problem, known, gpu.sms, packs, prepared, parts, nullptr);
        };
        if (!make(0) || way.least_workspace_bytes() > room) continue;
        if (way.workspace_bytes > room) {
          const std::size_t more = (room - way.least_workspace_bytes()) / bytes_of_a_part(way);
          if (!make(parts_of(*known.kernel, one, gpu.sms, static_cast<std::int64_t>(2 + more)))) continue;
        }
        found.add(known, packs);
        take(way);
      }
  };
  for (const LibraryKernel* const known : library_kernels(problem.kind.type, a.order, b.order)) of_kernel(*known);
}

}  // namespace lapidary::library
