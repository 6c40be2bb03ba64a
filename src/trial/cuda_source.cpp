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

/// What a function, or a structure, may be called by; empty if it is not known.
std::vector<std::string> names_in(const std::string& header) {
  std::vector<std::string> names;
  if (find_word(header, "operator", 0) != header.npos) return names;
  for (std::size_t open = header.find('('); open != header.npos; open = header.find('(', open + 1)) {
    std::size_t end = open;
    while (end > 0 && is_blank(header[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && is_word(header[begin - 1])) --begin;
    if (begin < end) names.push_back(header.substr(begin, end - begin));
  }
  for (const char* word : {"struct", "class", "union"}) {
    const std::size_t place = find_word(header, word, 0);
    if (place == header.npos) continue;
    names.push_back(word_at(header, skip_blanks(header, place + std::string_view(word).size())));
  }
  std::erase(names, "");
  return names;
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

bool CudaSource::has_other_launch(const CudaLaunch& launch) const {
  return std::any_of(launches_.begin(), launches_.end(), [&](const CudaLaunch& other) {
    return other.kernel == launch.kernel &&
           (other.configuration != launch.configuration || other.template_arguments != launch.template_arguments);
  });
}

// By words: a function is called where its name stands in what is reached, or in a macro, which stands for nobody knows
// where. What has no name of its own, an operator say, counts as called.
std::vector<bool> CudaSource::reached_by(const CudaKernel& kernel) const {
  const auto text_of = [&](const Body& body) { return code().substr(body.begin, body.end - body.begin); };
  std::vector<Body> bodies = find_bodies(code());
  auto rest = std::partition(bodies.begin(), bodies.end(),
                             [&](const Body& body) { return body.open < kernel.end && kernel.end <= body.end; });
  std::string reached;
  for (std::size_t i = 0; i < code().size(); ++i)
    if (is_blank(code()[i])) reached += text_.uncommented()[i];  // of preprocessor lines
  const auto is_reached = [&](const Body& body) {
    const std::string header = code().substr(body.begin, body.open - body.begin);
    if (find_word(header, "__global__", 0) != header.npos) return false;
    const std::vector<std::string> names = names_in(header);
    return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
             return find_word(reached, name, 0) != reached.npos;
           });
  };
  for (auto last = bodies.begin(); last != rest;) {
    for (; last != rest; ++last) reached += text_of(*last) + "\n";
    rest = std::partition(last, bodies.end(), is_reached);
  }
  std::vector<bool> lines(static_cast<std::size_t>(text_.line_of(code().size())) + 1, true);
  const auto mark = [&](auto from, auto to, bool value) {
    for (; from != to; ++from)
      for (int line = text_.line_of(skip_blanks(code(), from->begin)); line <= text_.line_of(from->end); ++line)
        lines[static_cast<std::size_t>(line)] = value;
  };
  mark(rest, bodies.end(), false);
  mark(bodies.begin(), rest, true);  // may share lines with others
  return lines;
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
