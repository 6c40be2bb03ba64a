#pragma once
#include <cstdint>
#include <optional>

#include "bench/host_problem.hpp"
#include "trial/kernel_call.hpp"
#include "trial/matrix_image.hpp"
#include "trial/request.hpp"

namespace lapidary::trial {

/// The matrices in a kernel's memory; of a kernel that has one of C and D, both are the same.
struct Operands {
  Storage A, B, C, D;
  /// What products are added up in: f32, whatever the matrices have, unless the user says that it is f16 or bf16.
  Element sums = Element::f32;
};

/// The type of the host's in which elements are generated and compared; none for f64, which it does not have.
std::optional<Type> type_of(Element element);

/// Elements between the lines of matrices.
struct Gaps {
  std::int64_t a = 0, b = 0, c = 0, d = 0;
  friend bool operator==(const Gaps&, const Gaps&) = default;
};
/// Those of a problem whose matrices are row-major.
Gaps gaps_of(const Problem& problem);

/// The problem that a kernel is tried on.
/// @throws InvalidArgument if it is not legal or takes too long
bench::RandomProblem problem_of(const CudaSource& source, const Call& call, const Request& request);

/// The matrices of a problem.
/// @param gaps  by which leading dimensions that are not given are longer than need be, where the kernel is told
/// @throws InvalidArgument if a given leading dimension is too short or not the kernel's
Operands operands_of(const Call& call, const Layouts& layouts, const Problem& problem, const Request& request,
                     const Gaps& gaps);

}  // namespace lapidary::trial
