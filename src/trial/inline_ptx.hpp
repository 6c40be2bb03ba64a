#pragma once
#include <string>
#include <string_view>

namespace lapidary::trial {

/// The C++ statement, but for its semicolon, that does on the emulated machine what inline PTX does on a GPU: ldmatrix,
/// mma.sync, cp.async, cvta, cvt and mov between registers, and bar.sync 0. It needs trial/cuda/inline_ptx.hpp.
/// @param statement  what stands between the brackets that follow the keyword
/// @throws InvalidArgument naming the instruction or the part of it that is not supported
std::string translate_inline_ptx(std::string_view statement);

}  // namespace lapidary::trial
