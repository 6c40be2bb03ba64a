#include "trial/several_tiles.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/math.hpp"
#include "trial/evaluate.hpp"
#include "trial/kernel_launch.hpp"
#include "trial/tokens.hpp"

namespace lapidary::trial {
namespace {

constexpr std::int64_t usual_k = 64;

/// Along K: what is longer is taken for something else.
constexpr std::int64_t longest_step = 256;

/// Blocks of a launch on a problem; 0 if it has none that is legal.
std::int64_t blocks_of(const CudaSource& source, const Call& call, const Request& request, const Problem& problem) {
  try {
    const LaunchShape shape = shape_of(source, call, request, problem);
    return std::int64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  } catch (const InvalidArgument&) {
    return 0;
  }
}

/// How much longer a size grows from one more block to the next, none if the grid does not depend on it.
std::optional<std::int64_t> period_of(const std::function<std::int64_t(std::int64_t)>& blocks) {
  constexpr std::int64_t longest = 513;  // two tiles of 256 and one more
  std::optional<std::int64_t> first;
  std::int64_t before = blocks(1);
  for (std::int64_t size = 2; size <= longest; ++size) {
    const std::int64_t now = blocks(size);
    if (now == before) continue;
    if (first) return size - *first;
    first = size;
    before = now;
  }
  return std::nullopt;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c == '_' ? c : static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  std::erase(text, '_');
  return text;
}

/// What stands in a call for names in its kernel, before a place in the file.
std::int64_t value_in(const CudaSource& source, const Call& call, std::size_t position, const std::string& expression) {
  try {
    return evaluate(expression, [&](const std::string& name) -> std::optional<std::string> {
      const std::vector<CudaParameter>& parameters = call.kernel->template_parameters;
      for (std::size_t i = 0; i < std::min(parameters.size(), call.template_values.size()); ++i)
        if (parameters[i].name == name) return call.template_values[i];
      return source.definitions().before(position, name);
    });
  } catch (const InvalidArgument&) {
    return 0;
  }
}

/// What K is called in the kernel, where it is a parameter of its own or a constant.
std::string name_of_k(const Call& call) {
  for (std::size_t i = 0; i < std::min(call.roles.size(), call.kernel->parameters.size()); ++i) {
    const std::string& role = call.roles[i];
    if (role == "K" || (call.square && (role == "M" || role == "N"))) return call.kernel->parameters[i].name;
  }
  const auto constant = call.constants.find("K");
  return constant == call.constants.end() ? "" : constant->second;
}

/// By how much the kernel's loops along K go on at a time, `for (...; k < K; k += 32)`: the least that is a multiple of
/// all that are numbers when the kernel is called; 0 if there are none.
std::int64_t step_of_loops(const CudaSource& source, const Call& call) {
  const std::string_view body = std::string_view(source.code())
                                    .substr(call.kernel->begin, call.kernel->end - call.kernel->begin);
  const std::string name = name_of_k(call);
  if (name.empty()) return 0;
  std::int64_t all = 0;
  for (std::size_t at = body.find("for"); at != body.npos; at = body.find("for", at + 3)) {
    const std::size_t open = body.find_first_not_of(" \t\n", at + 3);
    if (open == body.npos || body[open] != '(') continue;
    const std::size_t first = body.find(';', open), second = first == body.npos ? first : body.find(';', first + 1);
    if (second == body.npos) break;
    const std::string_view condition = body.substr(first + 1, second - first - 1);
    const std::size_t less = condition.find('<'), end = body.find(')', second), plus = body.find("+=", second);
    if (plus >= end || less == condition.npos || trimmed(condition.substr(less + 1)) != name) continue;
    const std::string step(body.substr(plus + 2, end - plus - 2));
    const std::int64_t value = value_in(source, call, call.kernel->begin + at, step);
    if (value > 1 && value <= longest_step) all = all == 0 ? value : std::lcm(all, value);
  }
  return all;
}

/// The length of a step along K: the largest of what the kernel's template parameters and the file's constants call so,
/// and as many of these as its loops along K end with; or that of the loops.
std::optional<std::int64_t> step_of(const CudaSource& source, const Call& call) {
  constexpr const char* own[] = {
      "BK",     "bk",     "TILE_K",           "BLOCK_K",      "TK",     "BLOCK_SIZE_K", "kBlockK",
      "kTileK", "K_TILE", "TILE_SIZE_K",      "BLOCK_TILE_K", "K_STEP", "STEP_K",       "K_BLOCK",
      "BLOCKK", "TILEK",  "BLOCK_TILE_SIZE_K"};
  constexpr const char* of_all[] = {"TILE",       "TILE_SIZE",   "TILE_WIDTH",  "TILE_DIM", "TS",
                                    "BLOCK_SIZE", "BLOCKSIZE",   "BLOCK",       "BS",       "BLOCK_DIM",
                                    "TILESIZE",   "TILE_LENGTH", "BLOCK_WIDTH", "TILEWIDTH"};
  const auto value = [&](const std::string& expression) { return value_in(source, call, call.position(), expression); };
  const auto largest = [&](const auto& names) {
    std::int64_t found = 0;
    const auto take = [&](std::int64_t step) {
      if (step > 1 && step <= longest_step) found = std::max(found, step);
    };
    for (const char* name : names) {
      if (const auto constant = source.definitions().constant(name)) take(value(*constant));
      const std::vector<CudaParameter>& parameters = call.kernel->template_parameters;
      for (std::size_t i = 0; i < std::min(parameters.size(), call.template_values.size()); ++i)
        if (lower(parameters[i].name) == lower(name)) take(value(call.template_values[i]));
    }
    return found;
  };
  const std::int64_t loops = step_of_loops(source, call), named = largest(own) > 0 ? largest(own) : largest(of_all);
  if (loops == 0 || named == 0) return loops + named > 0 ? std::optional(loops + named) : std::nullopt;
  const std::int64_t both = std::lcm(loops, named);
  return both <= longest_step ? both : named;
}

/// The least multiple of a tile that has so many of them and is not shorter than what is usual.
std::int64_t multiple(std::int64_t tile, std::int64_t tiles, std::int64_t usual) {
  return std::max(tiles * tile, round_up(usual, tile));
}

/// The sizes that the file's launch passes, if all of them are numbers there that can be tried.
std::optional<Problem> sizes_of_launch(const CudaSource& source, const Call& call) {
  if (!call.launch) return std::nullopt;
  Problem p{.M = 0, .N = 0, .K = 0};
  for (std::size_t i = 0; i < std::min(call.roles.size(), call.launch->arguments.size()); ++i) {
    const std::string& role = call.roles[i];
    if (!is_size(role)) continue;
    const std::int64_t value = value_in(source, call, call.position(), call.launch->arguments[i]);
    if (value < 1 || value > most_products) return std::nullopt;
    size_named(p, role.front()) = value;
    if (call.square) p.M = p.N = p.K = value;
  }
  if (p.M == 0 || p.N == 0 || p.K == 0) return std::nullopt;
  if (static_cast<double>(p.M) * static_cast<double>(p.N) * static_cast<double>(p.K) > most_products)
    return std::nullopt;
  return p;
}

/// Whether blocks of the launch of a problem are those of a longer one, too, where its grid is.
bool is_always_the_same(const CudaSource& source, const Call& call, const Request& request, Problem p) {
  try {
    const Extent3 own = shape_of(source, call, request, p).block;
    for (std::int64_t* const size : {&p.M, &p.N, &p.K}) ++*size;
    const Extent3 longer = shape_of(source, call, request, p).block;
    return own.x == longer.x && own.y == longer.y && own.z == longer.z;
  } catch (const InvalidArgument&) {
    return false;
  }
}

}  // namespace

TileShape tile_of(const CudaSource& source, const Call& call, const Request& request) {
  const std::int64_t step = step_of(source, call).value_or(0);
  const auto period = [&](char size) {
    return period_of([&](std::int64_t value) {
             Problem p{.M = 512, .N = 512, .K = step > 0 ? multiple(step, 3, usual_k) : usual_k};
             size_named(p, size) = value;
             if (call.is_equal(size))
               for (const char other : call.equal) size_named(p, other) = value;
             return blocks_of(source, call, request, p);
           })
        .value_or(0);
  };
  return {static_cast<int>(period('M')), static_cast<int>(period('N')), static_cast<int>(step)};
}

Problem several_tiles(const CudaSource& source, const Call& call, const Request& request) {
  const TileShape tile = tile_of(source, call, request);
  const std::int64_t rows = tile.m, cols = tile.n, step = tile.k;
  // A launch that is always the same is one for the sizes beside it.
  if (const auto own = sizes_of_launch(source, call);
      own && !rows && !cols && request.grid.empty() && is_always_the_same(source, call, request, *own))
    return *own;
  Problem p{.M = 128, .N = 256, .K = usual_k};
  if (step) p.K = multiple(step, 3, p.K);
  if (rows) p.M = multiple(rows, 2, p.M);
  if (cols) p.N = multiple(cols, 2, p.N);
  if (!call.equal.empty()) {
    const std::int64_t period = std::max(call.is_equal('M') ? rows : cols, std::int64_t{1});
    std::int64_t side = multiple(period, 2, 128);
    if (step && call.is_equal('K')) side = round_up(multiple(step, 3, side), period);
    const auto sized = [&](std::int64_t size) {
      for (const char one : call.equal) size_named(p, one) = size;
      return p;
    };
    p = sized(side);
    if (p.M * p.N * p.K > most_products) p = sized(side = round_up<std::int64_t>(128, period));
    for (const char one : {'M', 'N', 'K'})
      while (!call.is_equal(one) && size_named(p, one) == side)
        size_named(p, one) += std::max<std::int64_t>(one == 'M' ? rows : one == 'N' ? cols : step, 1);
    // A grid that is always the same may be one block, of as many threads as there are results.
    while (!rows && !cols && side > 1 && blocks_of(source, call, request, p) == 0) p = sized(--side);
    return p;
  }
  const bool one_block = !rows && !cols;
  while (one_block && p.N > 2 && blocks_of(source, call, request, p) == 0) {
    --p.N;
    p.M = p.N - p.N / 4;
  }
  if (p.N == p.M && !one_block) p.N += cols ? cols : p.N;
  const std::int64_t longer = step ? step : p.K;
  while (p.K == p.M || p.K == p.N) p.K += longer;
  while (p.M * p.N * p.K > most_products && p.K > longer) p.K -= longer;
  return p;
}

}  // namespace lapidary::trial
