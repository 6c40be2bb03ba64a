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

/// Resolves a spec and checks that everything an Experiment allocates fits into memory.
RandomProblem affordable(Device& device, const RandomProblem& unresolved) {
  const RandomProblem spec = resolve(unresolved);
  const Problem kept = without_far_gaps(spec.problem);
  std::size_t on_device = 0, on_host = Reference::bytes(spec);
  for (const Matrix matrix : all_matrices) {
    const MatrixShape shape = shape_of(spec.problem, matrix);
    if (matrix != Matrix::D || !spec.problem.in_place)
      on_device = add_saturated(on_device, GuardedMatrix::bytes(device, shape, spec.displacement[matrix]));
    on_host = add_saturated(on_host, static_cast<std::size_t>(shape_of(kept, matrix).bytes()));
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

/// @param front  bytes before the first one
emulator::Lines lines_of(const MatrixShape& shape, std::size_t front) {
  const auto size = static_cast<std::size_t>(size_of(shape.type));
  if (shape.empty()) return {};
  return {front, static_cast<std::size_t>(shape.length()) * size, static_cast<std::size_t>(shape.ld) * size};
}

}  // namespace

std::size_t GuardedMatrix::bytes(Device& device, const MatrixShape& shape, std::int64_t displacement) {
  const auto size = static_cast<std::size_t>(size_of(shape.type));
  auto matrix = static_cast<std::size_t>(shape.extent()) * size;
  if (is_far(shape) && device.kind() == DeviceKind::emulator) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    matrix = static_cast<std::size_t>(shape.lines()) * (static_cast<std::size_t>(shape.length()) * size + 2 * page);
  }
  return add_saturated(matrix, static_cast<std::size_t>(displacement) * size + 2 * guard_bytes(device));
}

GuardedMatrix::GuardedMatrix(Device& device, const MatrixShape& shape, std::int64_t displacement, const char* name)
    : device_(&device),
      shape_(shape),
      name_(name),
      front_(guard_bytes(device) + static_cast<std::size_t>(displacement * size_of(shape.type))),
      matrix_(static_cast<std::size_t>(shape.bytes())),
      back_(guard_bytes(device)),
      buffer_(device, front_ + matrix_ + back_, name, bytes(device, shape, displacement), lines_of(shape, front_)) {
  lay_guards();
}

template <class Copy>
void GuardedMatrix::for_each_run(Copy&& copy) const {
  auto* const here = static_cast<std::byte*>(data());
  if (!is_far(shape_)) {
    if (matrix_ > 0) copy(here, std::size_t{0}, matrix_);
    return;
  }
  const auto size = static_cast<std::size_t>(size_of(shape_.type)),
             length = static_cast<std::size_t>(shape_.length()) * size,
             pitch = static_cast<std::size_t>(shape_.ld) * size;
  for (std::size_t line = 0; line < static_cast<std::size_t>(shape_.lines()); ++line)
    copy(here + line * pitch, line * length, length);
}

void GuardedMatrix::upload(const HostMatrix& content) {
  for_each_run([&](std::byte* here, std::size_t offset, std::size_t count) {
    device_->upload(here, content.data() + offset, count);
  });
}

void GuardedMatrix::download(HostMatrix& content) const {
  for_each_run([&](std::byte* here, std::size_t offset, std::size_t count) {
    device_->download(content.data() + offset, here, count);
  });
}

void GuardedMatrix::lay_guards() {
  const std::vector<std::byte> band(std::max(front_, back_), guard);
  if (front_ > 0) device_->upload(buffer_.data(), band.data(), front_);
  if (back_ > 0) device_->upload(static_cast<std::byte*>(data()) + matrix_, band.data(), back_);
}

std::int64_t GuardedMatrix::damaged_bytes() const {
  std::vector<std::byte> bands(front_ + back_);
  if (front_ > 0) device_->download(bands.data(), buffer_.data(), front_);
  if (back_ > 0) device_->download(bands.data() + front_, static_cast<std::byte*>(data()) + matrix_, back_);
  return std::count_if(bands.begin(), bands.end(), [](std::byte b) { return b != guard; });
}

Experiment::Experiment(Device& device, const RandomProblem& spec, OnProgress progress)
    : device_(&device),
      progress_(std::move(progress)),
      problem_(make_problem(affordable(device, spec), progress_)),
      reference_(problem_, progress_),
      A_(device, shape_of(problem_.spec.problem, Matrix::A), problem_.spec.displacement.A, "A"),
      B_(device, shape_of(problem_.spec.problem, Matrix::B), problem_.spec.displacement.B, "B"),
      C_(device, shape_of(problem_.spec.problem, Matrix::C), problem_.spec.displacement.C, "C"),
      D_(device, shape_of_d(problem_.spec.problem), problem_.spec.displacement.D, "D") {
  A_.upload(problem_.A);
  B_.upload(problem_.B);
  C_.upload(problem_.C);
}

Operands Experiment::operands() const {
  const RandomProblem& spec = problem_.spec;
  return {.A = A_.data(),
          .B = B_.data(),
          .C = spec.beta == 0 && !spec.unread_c && checks(*device_) ? nullptr : C_.data(),
          .D = spec.problem.in_place ? C_.data() : D_.data(),
          .alpha = spec.alpha,
          .beta = spec.beta};
}

RunResult Experiment::run(const Rung& rung, const KernelEntry& kernel, Build build) {
  require_support(rung, kernel.kind, *device_);
  if (progress_) progress_(rung.name(), -1);
  return run([&](const Problem& problem, const Operands& operands) {
    return lapidary::run(kernel, build, device_->stream(), problem, operands);
  });
}

RunResult Experiment::run(const std::function<Choice(const Problem&, const Operands&)>& compute) {
  const Problem& problem = problem_.spec.problem;
  GuardedMatrix& output = problem.in_place ? C_ : D_;
  RunResult result;
  result.D = problem.in_place ? problem_.C : HostMatrix(shape_of(without_far_gaps(problem), Matrix::D));
  output.upload(result.D);
  for (GuardedMatrix* matrix : {&A_, &B_, &C_, &D_}) matrix->lay_guards();
  const Choice ran = compute(problem, operands());
  if (ran.kernel) result.ran = ran.kernel->id();
  result.why = ran.why;
  device_->synchronize();
  output.download(result.D);
  result.verification = reference_.verify(result.D);
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
