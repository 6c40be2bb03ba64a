#include "trial/cuda_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.hpp"
#include "trial/tokens.hpp"

namespace lapidary::trial {
namespace {

/// The text, if it has nothing in it that kernels cannot use here.
/// @throws InvalidArgument with the line of what it has
CudaText supported(CudaText text) {
  constexpr std::array features = {"cooperative_groups", "texture", "tex1D", "tex2D", "tex3D", "surf2D",
                                   "__cluster_dims__"};
  for (const char* feature : features) {
    const std::size_t place = find_word(text.code(), feature, 0);
    if (place == std::string::npos) continue;
    throw InvalidArgument(fmt::format(
        "{}:{}: `{}` is not supported; kernels may use CUDA C++ with float, half, bfloat16 and double, shared "
        "memory, barriers, warp shuffles and votes, warp matrix functions, some inline PTX, atomics and vector types",
        text.path(), text.line_of(place), feature));
  }
  return text;
}

}  // namespace

CudaSource::CudaSource(std::string path)
    : text_(supported(CudaText(std::move(path)))),
      kernels_(find_kernels(text_)),
      launches_(find_launches(text_)),
      definitions_(text_),
      shared_(rewrite_shared(text_)),
      vectors_(rewrite_vectors(text_)),
      inline_ptx_(rewrite_inline_ptx(text_)),
      host_functions_(empty_host_functions(text_)),
      headers_(rewrite_headers(text_)) {}

const CudaLaunch* CudaSource::launch_of(const CudaKernel& kernel) const {
  const auto launch = std::find_if(launches_.begin(), launches_.end(),
                                   [&](const CudaLaunch& l) { return l.kernel == kernel.name; });
  return launch == launches_.end() ? nullptr : &*launch;
}

void CudaSource::redefine(std::string_view name, const std::string& value) {
  const std::vector<Edit> changed = definitions_.redefine(name, value);
  constants_.insert(constants_.end(), changed.begin(), changed.end());
}

std::string CudaSource::rewritten(Target target) const {
  std::vector<Edit> edits;
  const auto add = [&](const std::vector<Edit>& more) { edits.insert(edits.end(), more.begin(), more.end()); };
  if (target == Target::emulator) {
    add(shared_.edits);
    add(vectors_);
    add(inline_ptx_);
  }
  add(host_functions_);
  add(headers_.edits);
  add(constants_);
  return edited(text_.written(), std::move(edits));
}

}  // namespace lapidary::trial
