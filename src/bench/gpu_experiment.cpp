#include "bench/gpu_experiment.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "bench/gpu_reference.hpp"
#include "bench/random_fill.hpp"
#include "core/error.hpp"
#include "kernels/registry.hpp"

namespace lapidary::bench {
namespace {

template <class T>
T element(Device& device, const void* data, std::int64_t index) {
  T value;
  device.download(&value, static_cast<const T*>(data) + index, sizeof(T));
  return value;
}

std::string describe(const Verification& v, double value, double expected) {
  const std::string allowed = fmt::format("{:.3g} where {:.3g} is allowed", v.max_error, v.bound);
  std::string text = fmt::format("all {} results are right; the largest error is {}", v.results, allowed);
  if (v.wrong > 0) {
    text = fmt::format("{} of {} results are wrong; the worst is D({}, {}) = {:.7g} instead of {:.7g}", v.wrong,
                       v.results, v.row, v.col, value, expected);
    if (!std::isnan(v.max_error)) text += ", off by " + allowed;
  }
  if (v.outside > 0) text += fmt::format("; {} elements between the rows of D were changed", v.outside);
  return text;
}

RandomProblem legal(const RandomProblem& unresolved) {
  const RandomProblem spec = resolve(unresolved);
  const Problem& p = spec.problem;
  if (p.M == 0 || p.N == 0 || spec.displacement != Displacement{} || p.in_place) {
    throw InvalidArgument("a problem to verify on the GPU has results, is not displaced and not in place");
  }
  return spec;
}

std::size_t bytes_of(const Problem& problem, Matrix matrix) {
  return matrix == Matrix::C && !problem.reads_c() ? 0 : static_cast<std::size_t>(shape_of(problem, matrix).bytes());
}

}  // namespace

GpuExperiment::GpuExperiment(Device& device, const RandomProblem& spec)
    : device_(&device),
      spec_(legal(spec)),
      A_(device, bytes_of(spec_.problem, Matrix::A), "A"),
      B_(device, bytes_of(spec_.problem, Matrix::B), "B"),
      C_(device, bytes_of(spec_.problem, Matrix::C), "C"),
      D_(device, bytes_of(spec_.problem, Matrix::D), "D"),
      results_(device, static_cast<std::size_t>(spec_.problem.M * spec_.problem.N) * sizeof(double), "the reference"),
      bounds_(device, results_.bytes(), "the bounds of the reference"),
      operands_{A_.data(), B_.data(), C_.data(), D_.data(), spec_.alpha, spec_.beta} {
  std::uint64_t seed = 3 * spec_.seed;
  for (const DeviceBuffer* matrix : {&A_, &B_, &C_}) {
    const Type type = matrix == &C_ ? spec_.problem.kind.result : spec_.problem.kind.type;
    fill_normal(device, type, matrix->data(), static_cast<std::int64_t>(matrix->bytes()) / size_of(type), seed++);
  }
  compute_reference_on_gpu(device, spec_.problem, operands_, static_cast<double*>(results_.data()),
                           static_cast<double*>(bounds_.data()));
  device.synchronize();
}

Verification GpuExperiment::run(const Contestant& contestant) {
  const Problem& p = problem();
  poison_on_gpu(*device_, p.kind.result, D_.data(), D_.bytes());
  contestant.prepare(p)(device_->stream(), operands_);
  if (contestant.integers) convert_integers_on_gpu(*device_, p, operands_);
  const double* const results = static_cast<const double*>(results_.data());
  const double* const bounds = static_cast<const double*>(bounds_.data());
  const Findings found = verify_on_gpu(*device_, p, operands_, results, bounds);

  const std::int64_t place = found.row * p.N + found.col, offset = found.row * p.ldd + found.col;
  const double value = with_type(
      p.kind.result, [&](auto type) { return to_double(element<decltype(type)>(*device_, D_.data(), offset)); });
  const double expected = element<double>(*device_, results, place);
  Verification verification;
  verification.ok = found.wrong == 0 && found.outside == 0;
  verification.max_error = std::abs(value - expected);
  verification.bound = element<double>(*device_, bounds, place);
  verification.row = found.row;
  verification.col = found.col;
  verification.results = verification.compared = p.M * p.N;
  verification.wrong = found.wrong;
  verification.outside = found.outside;
  verification.message = describe(verification, value, expected);
  return verification;
}

}  // namespace lapidary::bench
