#pragma once
#include <vector>

#include "core/problem.hpp"

namespace lapidary::library {

/// The same product with row-major results. Column-major ones are those of the transposed product, as they lie:
/// D^T = alpha * B^T * A^T + beta * C^T, in which A and B have changed places and M and N, and each is of the other
/// order.
Problem with_row_major_results(const Problem& problem);
/// The operands of that one.
Operands with_row_major_results(const Problem& problem, Operands operands);

/// The same resolved product without what is never walked: a matrix of one line has no gap behind it, and of A and B
/// one of one row, or of one column, whose elements follow each other has that for its line; so has D of one row.
Problem with_plain_lines(Problem problem);
/// The same resolved product with results of one column as a row, which they are where one follows the other: of those
/// with row-major results it has M = 1. Any other product as it is.
Problem with_a_column_as_row(Problem problem);
/// The same resolved product with a row of results as a column, whose elements follow each other: of those with
/// row-major results it has N = 1, and B is A. Any other product as it is.
Problem with_a_row_as_column(Problem problem);
/// The same resolved products as a single one where they are: of a B that all share and of A, C, D and a residual whose
/// rows go on in the next matrix as they do within one, or are one a matrix, the product of as many rows as all have
/// together; or of an A that all share, and columns. Where alpha or K is 0 nobody reads A and B, whatever they are.
Problem with_products_joined(Problem problem);
/// The resolved product itself, and then the same one in each other form of which kernels may compute it that do not
/// this one, or in less time: of a batch as a single product; with a column of results as a row; in f32 with a row as a
/// column.
std::vector<Problem> forms_of(const Problem& problem);
/// The same resolved product, in which an A, and C and D, of one column whose elements follow each other are
/// column-major. They may be of either order, and of one row there is no telling of which those of more rows are.
Problem with_columns(Problem problem);

}  // namespace lapidary::library
