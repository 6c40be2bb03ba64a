#pragma once
#include <string>
#include <vector>

#include "trial/declarations.hpp"

// A kernel's call as C++, from outside of its file.

namespace lapidary::trial {

/// The call of a kernel with the members of `lapidary::KernelArguments arguments`, without its name and launch shape:
/// "(::lapidary::AnyNumber{...}, ...)".
/// @param roles  for each parameter of the kernel the member that it is given; a structure that holds a matrix is given
///               its pointer, its sizes and its leading dimension
std::string call_of(const CudaKernel& kernel, const std::vector<std::string>& roles);

/// A text as it is written within a string literal.
std::string in_literal(const std::string& text);

/// What makes the names that a kernel can use in its namespace known to a function outside of it, as a statement:
/// types of its parameters and template arguments are written as they are there.
std::string in_scope(const CudaKernel& kernel);

/// Lines that end the macros of a file that have the names of these members, to stand between it and a call.
std::string without_macros();

/// The member of KernelArguments that a member of a structure for matrix `role` has by its name: "M" for `height` of A,
/// "ldb" for `stride` of B; empty if its name tells nothing.
std::string argument_of(const std::string& member, const std::string& role);

}  // namespace lapidary::trial
