#pragma once
#include "core/problem.hpp"

namespace lapidary::library {

/// The same product with row-major results. Column-major ones are those of the transposed product, as they lie:
/// D^T = alpha * B^T * A^T + beta * C^T, in which A and B have changed places and M and N, and each is of the other
/// order.
Problem with_row_major_results(const Problem& problem);
/// The operands of that one.
Operands with_row_major_results(const Problem& problem, Operands operands);

}  // namespace lapidary::library
