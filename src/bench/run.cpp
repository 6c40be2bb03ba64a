#include "bench/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/batch.hpp"
#include "core/error.hpp"
#include "core/math.hpp"
#include "emulator/arena.hpp"
#include "emulator/machine.hpp"

namespace lapidary::bench {
namespace {

/// What allocations are aligned to, and therefore what a guard band may be a multiple of without moving its matrix.
constexpr std::size_t alignment = 256;

/// Makes a guard band a row of NaNs in either type, so that a result which a part of it leaked into is one, too.
constexpr std::byte guard{0xff};

/// Whether the device itself finds accesses outside matrices.
bool checks(Device& device) {
  return device.kind() == DeviceKind::emulator && device.stream().machine->options().check;
}

/// Bytes of a guard band on either side of a matrix.
std::size_t guard_bytes(Device& device) { return checks(device) ? 0 : alignment; }

std::size_t add_saturated(std::size_t a, std::size_t b) {
  return a > std::numeric_limits<std::size_t>::max() - b ? std::numeric_limits<std::size_t>::max() : a + b;
}

/// Host memory that may be used without swapping: what the kernel calls available, and no more than the limit of the
/// control group that this process is in, where it has one.
std::size_t free_host_bytes() {
  std::size_t free = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) *
                     static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key; meminfo >> key;) {
    std::size_t kibibytes = 0;
    if (key == "MemAvailable:" && meminfo >> kibibytes) free = kibibytes * 1024;
    meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  std::size_t limit = 0, used = 0;
  std::ifstream limit_file("/sys/fs/cgroup/memory.max"), used_file("/sys/fs/cgroup/memory.current");
  if (limit_file >> limit && used_file >> used) free = std::min(free, limit - std::min(limit, used));
  return free;
}

std::string describe_bytes(std::size_t bytes) {
  constexpr double kibi = 1024;
  const double value = static_cast<double>(bytes);
  if (value < kibi * kibi) return fmt::format("{} bytes", bytes);
  if (value < kibi * kibi * kibi) return fmt::format("{} bytes ({:.1f} MiB)", bytes, value / kibi / kibi);
  return fmt::format("{} bytes ({:.1f} GiB)", bytes, value / kibi / kibi / kibi);
}

void require_memory(const char* where, std::size_t needed, std::size_t free) {
  if (needed <= free) return;
  throw InvalidArgument(fmt::format("the problem needs {} of {} memory and {} are free", describe_bytes(needed), where,
                                    describe_bytes(free)));
}

/// Of one of a problem's matrices.
Repeated repeated(const Problem& problem, Matrix matrix) {
  const std::int64_t stride = stride_of(problem.batch, matrix);
  const std::int64_t count = matrix == Matrix::B && problem.groups > 0 ? problem.groups : problem.batch.count;
  return {stride == 0 ? 1 : count, stride};
}

/// Resolves a spec and checks that everything an Experiment allocates fits into memory.
RandomProblem affordable(Device& device, const RandomProblem& unresolved) {
  const RandomProblem spec = resolve(unresolved);
  const Problem kept = without_far_gaps(spec.problem);
  // Of groups as if each had all rows.
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(spec.problem.batch.count, spec.problem.groups));
  std::size_t on_device = 0, on_host = count * Reference::bytes(spec);
  for (const Matrix matrix : all_matrices) {
    const MatrixShape shape = shape_of(spec.problem, matrix);
    if (matrix != Matrix::D || !spec.problem.in_place)
      on_device = add_saturated(
          on_device, GuardedMatrix::bytes(device, shape, repeated(spec.problem, matrix), spec.displacement[matrix]));
    on_host = add_saturated(on_host, count * static_cast<std::size_t>(shape_of(kept, matrix).bytes()));
  }
  require_memory(device.kind() == DeviceKind::gpu ? "GPU" : "emulated", on_device, device.properties().free_bytes);
  if (device.kind() == DeviceKind::emulator) {
    // The emulated machine's memory is the host's, and checking takes a cell for each word of it.
    on_host = add_saturated(
        on_host,
        on_device + (checks(device) ? on_device / emulator::GlobalCell::bytes * sizeof(emulator::GlobalCell) : 0));
  }
  require_memory("host", on_host, free_host_bytes());
  return spec;
}

/// The shape of D, which has no elements of its own if it is C.
MatrixShape shape_of_d(const Problem& problem) {
  MatrixShape shape = shape_of(problem, Matrix::D);
  if (problem.in_place) shape.rows = 0;
  return shape;
}

/// Bytes from the first matrix to the end of the last one.
std::size_t bytes_of(const MatrixShape& shape, const Repeated& repeated) {
  if (shape.empty()) return 0;
  const std::int64_t others = (repeated.count - 1) * repeated.stride * size_of(shape.type);
  return static_cast<std::size_t>(others + shape.bytes());
}

/// Of matrices that are whole lines apart there may be lines between them, too. @param front  bytes before the first
/// one
emulator::Lines lines_of(const MatrixShape& shape, const Repeated& repeated, std::size_t front) {
  const auto size = static_cast<std::size_t>(size_of(shape.type));
  if (shape.empty() || (repeated.count > 1 && repeated.stride % shape.ld != 0)) return {};
  return {front, static_cast<std::size_t>(shape.length()) * size, static_cast<std::size_t>(shape.ld) * size};
}

/// A problem whose K is split, whole.
HostProblem make_whole(RandomProblem spec, const OnProgress& progress) {
  spec.problem.split = 1;
  spec.problem.batch = {};
  return make_problem(spec, progress);
}

/// Rows or columns of a matrix from some `first` on, as many as there are of A or B in a part of a K that is split.
HostMatrix part_of(const HostMatrix& whole, Matrix matrix, std::int64_t first, std::int64_t K) {
  const RowCol<std::int64_t> from = matrix == Matrix::A ? RowCol<std::int64_t>{0, first}
                                                        : RowCol<std::int64_t>{first, 0};
  HostMatrix part(whole.type(), matrix == Matrix::A ? whole.rows() : K, matrix == Matrix::A ? K : whole.cols(),
                  whole.ld(), whole.order());
  for (std::int64_t row = 0; row < part.rows(); ++row)
    for (std::int64_t col = 0; col < part.cols(); ++col)
      part.set(row, col, static_cast<float>(whole.at(from.row + row, from.col + col)));
  return part;
}

/// The products of the parts of a K that is split.
std::vector<HostProblem> make_parts(const RandomProblem& spec, const OnProgress& progress) {
  const HostProblem whole = make_whole(spec, progress);
  const std::int64_t K = spec.problem.K, part = part_of_k(spec.problem);
  std::vector<HostProblem> parts;
  for (std::int64_t first = 0; first < K; first += part) {
    RandomProblem one = spec;
    one.seed += parts.size();
    one.problem.split = 1;
    one.problem.K = std::min(part, K - first);
    parts.push_back(make_problem(one, progress));
    parts.back().A = part_of(whole.A, Matrix::A, first, one.problem.K);
    parts.back().B = part_of(whole.B, Matrix::B, first, one.problem.K);
  }
  return parts;
}

/// The same random problem for each product of a batch, or of each group's rows.
std::vector<HostProblem> make_products(const RandomProblem& spec, const OnProgress& progress) {
  if (is_split(spec.problem)) return make_parts(spec, progress);
  std::vector<HostProblem> products;
  const std::vector<std::int64_t> ends = legal_ends(spec);
  const std::int64_t count = spec.problem.groups > 0 ? spec.problem.groups : spec.problem.batch.count;
  for (std::int64_t i = 0; i < count; ++i) {
    RandomProblem one = spec;
    one.seed += static_cast<std::uint64_t>(i);
    if (!ends.empty()) {
      const auto place = static_cast<std::size_t>(i);
      one.problem.M = ends[place] - (i == 0 ? 0 : ends[place - 1]);
      one.problem.groups = 0;
      one.group_ends = {};
    }
    products.push_back(make_problem(one, progress));
    if (ends.empty() && spec.problem.batch.stride_a == 0) products.back().A = products.front().A;
    if (spec.problem.batch.stride_b == 0) products.back().B = products.front().B;
  }
  return products;
}

/// What lies in a problem's A, C or D behind the rows of all groups.
HostMatrix rest_of(const RandomProblem& spec, Matrix matrix) {
  Problem rest = without_far_gaps(spec.problem);
  rest.M -= spec.group_ends.empty() ? spec.problem.M : legal_ends(spec).back();
  return HostMatrix(shape_of(rest, matrix));
}

/// Elements of a matrix that are not as they were made.
std::int64_t written(const HostMatrix& D) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < D.extent(); ++i) count += !D.poisoned(i);
  return count;
}

/// Of a batch the first one that is wrong, or else that with the largest error.
Verification worst_of(const std::vector<Verification>& products) {
  const auto worse = [](const Verification& a, const Verification& b) {
    const auto ratio = [](const Verification& v) { return v.bound > 0 ? v.max_error / v.bound : v.max_error; };
    return a.ok != b.ok ? a.ok : a.ok && ratio(a) < ratio(b);
  };
  const auto worst = std::max_element(products.begin(), products.end(), worse);
  Verification verification = *worst;
  if (products.size() > 1)
    verification.message = fmt::format("of {} products number {}: {}", products.size(), worst - products.begin(),
                                       verification.message);
  return verification;
}

}  // namespace

std::size_t GuardedMatrix::bytes(Device& device, const MatrixShape& shape, const Repeated& repeated,
                                 std::int64_t displacement) {
  const auto size = static_cast<std::size_t>(size_of(shape.type));
  std::size_t matrix = bytes_of(shape, repeated);
  if (repeated.count > 1 && repeated.stride > far_apart && device.kind() == DeviceKind::emulator) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    matrix = static_cast<std::size_t>(repeated.count) * (static_cast<std::size_t>(shape.bytes()) + 2 * page);
  }
  if (is_far(shape) && device.kind() == DeviceKind::emulator) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    matrix = static_cast<std::size_t>(shape.lines()) * (static_cast<std::size_t>(shape.length()) * size + 2 * page);
  }
  return add_saturated(matrix, static_cast<std::size_t>(displacement) * size + 2 * guard_bytes(device));
}

GuardedMatrix::GuardedMatrix(Device& device, const MatrixShape& shape, const Repeated& repeated,
                             std::int64_t displacement, const char* name)
    : device_(&device),
      shape_(shape),
      repeated_(repeated),
      name_(name),
      front_(guard_bytes(device) + static_cast<std::size_t>(displacement * size_of(shape.type))),
      back_(guard_bytes(device)),
      buffer_(device, front_ + bytes_of(shape, repeated) + back_, name, bytes(device, shape, repeated, displacement),
              lines_of(shape, repeated, front_)) {
  lay_guards();
}

template <class Copy>
void GuardedMatrix::for_each_run(const HostMatrix& content, std::int64_t offset, Copy&& copy) const {
  const MatrixShape shape = {shape_.type, content.rows(), content.cols(), shape_.ld, shape_.order};
  const auto size = static_cast<std::size_t>(size_of(shape.type)),
             length = static_cast<std::size_t>(shape.length()) * size,
             pitch = static_cast<std::size_t>(shape.ld) * size;
  if (shape.empty()) return;
  auto* const here = static_cast<std::byte*>(data()) + static_cast<std::size_t>(offset) * size;
  if (!is_far(shape)) return copy(here, std::size_t{0}, static_cast<std::size_t>(shape.bytes()));
  for (std::size_t line = 0; line < static_cast<std::size_t>(shape.lines()); ++line)
    copy(here + line * pitch, line * length, length);
}

void GuardedMatrix::upload(const HostMatrix& content, std::int64_t offset) {
  for_each_run(content, offset, [&](std::byte* here, std::size_t from, std::size_t count) {
    device_->upload(here, content.data() + from, count);
  });
}

void GuardedMatrix::download(HostMatrix& content, std::int64_t offset) const {
  for_each_run(content, offset, [&](std::byte* here, std::size_t to, std::size_t count) {
    device_->download(content.data() + to, here, count);
  });
}

template <class Band>
void GuardedMatrix::for_each_band(Band&& band) const {
  auto* const first = static_cast<std::byte*>(data());
  if (front_ > 0) band(static_cast<std::byte*>(buffer_.data()), front_);
  if (back_ > 0) band(first + bytes_of(shape_, repeated_), back_);
  if (shape_.empty() || repeated_.stride <= shape_.extent() || repeated_.stride > far_apart) return;
  const std::int64_t size = size_of(shape_.type);
  for (std::int64_t i = 0; i + 1 < repeated_.count; ++i)
    band(first + (i * repeated_.stride + shape_.extent()) * size,
         static_cast<std::size_t>((repeated_.stride - shape_.extent()) * size));
}

void GuardedMatrix::lay_guards() {
  for_each_band([&](std::byte* here, std::size_t count) {
    const std::vector<std::byte> band(count, guard);
    device_->upload(here, band.data(), count);
  });
}

std::int64_t GuardedMatrix::damaged_bytes() const {
  std::int64_t damaged = 0;
  for_each_band([&](std::byte* here, std::size_t count) {
    std::vector<std::byte> band(count);
    device_->download(band.data(), here, count);
    damaged += std::count_if(band.begin(), band.end(), [](std::byte b) { return b != guard; });
  });
  return damaged;
}

Experiment::Experiment(Device& device, const RandomProblem& spec, OnProgress progress)
    : device_(&device),
      progress_(std::move(progress)),
      spec_(affordable(device, spec)),
      products_(make_products(spec_, progress_)),
      A_(matrix_of(Matrix::A)),
      B_(matrix_of(Matrix::B)),
      C_(matrix_of(Matrix::C)),
      D_(matrix_of(Matrix::D)) {
  const bool split = is_split(spec_.problem);
  for (std::size_t i = 0; i < products_.size(); ++i) {
    references_.emplace_back(products_[i], progress_);
    C_.upload(products_[i].C, offset_of(Matrix::C, i));
    if (split) continue;
    A_.upload(products_[i].A, offset_of(Matrix::A, i));
    B_.upload(products_[i].B, offset_of(Matrix::B, i));
  }
  if (split) {
    const HostProblem whole = make_whole(spec_, progress_);
    A_.upload(whole.A, 0);
    B_.upload(whole.B, 0);
  }
  if (spec_.group_ends.empty()) return;
  A_.upload(rest_of(spec_, Matrix::A), offset_of(Matrix::A, products_.size()));
  C_.upload(rest_of(spec_, Matrix::C), offset_of(Matrix::C, products_.size()));
  const std::size_t bytes = spec_.group_ends.size() * sizeof(std::int64_t);
  group_ends_.emplace(device, bytes, "group_ends");
  device.upload(group_ends_->data(), spec_.group_ends.data(), bytes);
}

GuardedMatrix Experiment::matrix_of(Matrix matrix) const {
  const MatrixShape shape = matrix == Matrix::D ? shape_of_d(spec_.problem) : shape_of(spec_.problem, matrix);
  return {*device_, shape, repeated(spec_.problem, matrix), spec_.displacement[matrix], name_of(matrix)};
}

/// Elements from the first product's matrix to that of another one, or to what is behind the last group.
std::int64_t Experiment::offset_of(Matrix matrix, std::size_t product) const {
  if (!spec_.group_ends.empty() && matrix != Matrix::B) {
    const MatrixShape shape = shape_of(spec_.problem, matrix);
    const std::int64_t row = product == 0 ? 0 : legal_ends(spec_)[product - 1];
    return row * (shape.order == Order::row_major ? shape.ld : 1);
  }
  const Repeated matrices = repeated(spec_.problem, matrix);
  return matrices.count > 1 ? static_cast<std::int64_t>(product) * matrices.stride : 0;
}

Operands Experiment::operands() const {
  // Where there are no groups nobody asks where they end.
  const auto* const unread = reinterpret_cast<const std::int64_t*>(alignof(std::int64_t));
  return {.A = A_.data(),
          .B = B_.data(),
          .C = spec_.beta == 0 && !spec_.unread_c && checks(*device_) ? nullptr : C_.data(),
          .D = spec_.problem.in_place ? C_.data() : D_.data(),
          .alpha = spec_.alpha,
          .beta = spec_.beta,
          .group_ends = group_ends_ ? static_cast<const std::int64_t*>(group_ends_->data()) : unread};
}

RunResult Experiment::run(const Rung& rung, const KernelEntry& kernel, Build build) {
  require_support(rung, kernel.kind, *device_);
  if (progress_) progress_(rung.name(), -1);
  return run([&](const Problem& problem, const Operands& operands) {
    return lapidary::run(kernel, build, device_->stream(), problem, operands);
  });
}

RunResult Experiment::run(const std::function<Choice(const Problem&, const Operands&)>& compute) {
  const Problem& problem = spec_.problem;
  GuardedMatrix& output = problem.in_place ? C_ : D_;
  std::vector<HostMatrix> results;
  const auto reset = [&](HostMatrix content) {
    output.upload(content, offset_of(Matrix::D, results.size()));
    results.push_back(std::move(content));
  };
  for (const HostProblem& product : products_)
    reset(problem.in_place ? product.C : HostMatrix(shape_of(without_far_gaps(product.spec.problem), Matrix::D)));
  if (problem.groups > 0) reset(rest_of(spec_, Matrix::D));
  for (GuardedMatrix* matrix : {&A_, &B_, &C_, &D_}) matrix->lay_guards();
  const Choice ran = compute(problem, operands());
  RunResult result;
  if (ran.kernel) result.ran = ran.kernel->id();
  result.why = ran.why;
  device_->synchronize();
  std::vector<Verification> verified;
  for (std::size_t i = 0; i < results.size(); ++i) {
    output.download(results[i], offset_of(Matrix::D, i));
    if (i < references_.size()) verified.push_back(references_[i].verify(results[i]));
  }
  const std::int64_t behind = problem.groups > 0 ? written(results.back()) : 0;
  result.D = std::move(results.front());
  result.verification = worst_of(verified);
  if (behind > 0) {
    result.verification.ok = false;
    result.verification.message += fmt::format("; {} elements of rows behind the last group were written", behind);
  }
  for (const GuardedMatrix* matrix : {&A_, &B_, &C_, &D_}) {
    if (const std::int64_t damaged = matrix->damaged_bytes()) {
      result.verification.ok = false;
      result.verification.message += fmt::format("; {} bytes right before or behind {} were changed", damaged,
                                                 matrix->name());
    }
  }
  return result;
}

RunResult run_gemm(Device& device, const Rung& rung, const KernelEntry& kernel, Build build,
                   const RandomProblem& spec) {
  return Experiment(device, spec).run(rung, kernel, build);
}

void require_support(const Rung& rung, const GemmKind& kind, const DeviceProperties& device) {
  const std::string why_not = refusal(rung, kind, device.name, device.compute_capability);
  if (!why_not.empty()) throw InvalidArgument(why_not);
}
void require_support(const Rung& rung, const GemmKind& kind, const Device& device) {
  require_support(rung, kind, device.properties());
}

}  // namespace lapidary::bench
