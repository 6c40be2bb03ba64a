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
  std::size_t on_device = 0, on_host = Reference::bytes(spec);
  for (const Matrix matrix : all_matrices) {
    const MatrixShape shape = shape_of(spec.problem, matrix);
    const std::int64_t there = matrix == Matrix::D && spec.problem.in_place ? 0 : shape.extent();
    on_device = add_saturated(on_device, GuardedMatrix::bytes(device, shape.type, there, spec.displacement));
    on_host = add_saturated(on_host, static_cast<std::size_t>(shape.bytes()));
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

}  // namespace

std::size_t GuardedMatrix::bytes(Device& device, Type type, std::int64_t extent, std::int64_t displacement) {
  const std::size_t size = static_cast<std::size_t>(size_of(type));
  return add_saturated(static_cast<std::size_t>(extent) * size,
                       static_cast<std::size_t>(displacement) * size + 2 * guard_bytes(device));
}

GuardedMatrix::GuardedMatrix(Device& device, Type type, std::int64_t extent, std::int64_t displacement,
                             const char* name)
    : device_(&device),
      name_(name),
      front_(guard_bytes(device) + static_cast<std::size_t>(displacement * size_of(type))),
      matrix_(static_cast<std::size_t>(extent * size_of(type))),
      back_(guard_bytes(device)),
      buffer_(device, front_ + matrix_ + back_, name) {
  lay_guards();
}

void GuardedMatrix::upload(const HostMatrix& content) {
  if (matrix_ > 0) device_->upload(data(), content.data(), matrix_);
}

void GuardedMatrix::download(HostMatrix& content) const {
  if (matrix_ > 0) device_->download(content.data(), data(), matrix_);
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
      A_(device, problem_.A.type(), problem_.A.extent(), problem_.spec.displacement, "A"),
      B_(device, problem_.B.type(), problem_.B.extent(), problem_.spec.displacement, "B"),
      C_(device, problem_.C.type(), problem_.C.extent(), problem_.spec.displacement, "C"),
      D_(device, problem_.C.type(),
         problem_.spec.problem.in_place ? 0 : shape_of(problem_.spec.problem, Matrix::D).extent(),
         problem_.spec.displacement, "D") {
  A_.upload(problem_.A);
  B_.upload(problem_.B);
  C_.upload(problem_.C);
}

Operands Experiment::operands() const {
  const RandomProblem& spec = problem_.spec;
  // Where no kernel may read it, C is NaN; a device that finds wrong accesses is given none at all, so that it names
  // the line.
  return {.A = A_.data(),
          .B = B_.data(),
          .C = spec.beta == 0 && checks(*device_) ? nullptr : C_.data(),
          .D = spec.problem.in_place ? C_.data() : D_.data(),
          .alpha = spec.alpha,
          .beta = spec.beta};
}

RunResult Experiment::run(const Rung& rung, const KernelEntry& kernel, Build build) {
  require_support(rung, kernel.kind, *device_);
  const Problem& problem = problem_.spec.problem;
  GuardedMatrix& output = problem.in_place ? C_ : D_;
  RunResult result;
  result.D = problem.in_place ? problem_.C : HostMatrix(problem.kind.result, problem.M, problem.N, problem.ldd);
  output.upload(result.D);
  for (GuardedMatrix* matrix : {&A_, &B_, &C_, &D_}) matrix->lay_guards();
  if (progress_) progress_(rung.name(), -1);
  const Choice ran = lapidary::run(kernel, build, device_->stream(), problem, operands());
  result.ran = ran.kernel->id();
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

Build build_for(Device& device) {
  if (device.kind() == DeviceKind::gpu) return Build::gpu;
  const emulator::Options& options = device.stream().machine->options();
  return options.count || options.check ? Build::instrumented : Build::plain;
}

void require_support(const Rung& rung, const GemmKind& kind, const DeviceProperties& device) {
  const std::string why_not = refusal(rung, kind, device.name, device.compute_capability);
  if (!why_not.empty()) throw InvalidArgument(why_not);
}
void require_support(const Rung& rung, const GemmKind& kind, const Device& device) {
  require_support(rung, kind, device.properties());
}

}  // namespace lapidary::bench
