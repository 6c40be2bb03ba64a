#include "kernels/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/edit_distance.hpp"
#include "core/error.hpp"
#include "emulator/machine.hpp"

// An optional rung is a rung where the build found what it needs.
#define LAPIDARY_OPTIONAL_RUNG(family, name, what) LAPIDARY_IF(LAPIDARY_WITH_##what)(LAPIDARY_RUNG(family, name))
#define LAPIDARY_IF(found) LAPIDARY_IF_EXPANDED(found)
#define LAPIDARY_IF_EXPANDED(found) LAPIDARY_IF_##found
#define LAPIDARY_IF_0(...)
#define LAPIDARY_IF_1(...) __VA_ARGS__

namespace lapidary {

#define LAPIDARY_RUNG(family, name)        \
  RungVariants rung_plain_##name();        \
  RungVariants rung_instrumented_##name(); \
  RungVariants rung_gpu_##name();
#include "kernels/ladder.def"
#undef LAPIDARY_RUNG

namespace {

constexpr const char* name_of(Build build) {
  switch (build) {
    case Build::plain: return "plain";
    case Build::instrumented: return "instrumented";
    case Build::gpu: return "gpu";
  }
  return "unknown";
}

bool same_tile(const TileShape& a, const TileShape& b) { return a.m == b.m && a.n == b.n && a.k == b.k; }

/// Joins what the builds of a rung registered, in the order of `Build`.
Rung make_rung(const char* family, const char* name, const std::array<RungVariants, 3>& builds) {
  Rung rung{builds[0].info, family, fmt::format("src/kernels/{}/{}.cuh", family, name), {}};
  for (std::size_t build = 0; build < builds.size(); ++build) {
    for (const Variant& variant : std::span(builds[build].variants, static_cast<std::size_t>(builds[build].count))) {
      auto place = std::find_if(rung.variants.begin(), rung.variants.end(), [&](const RungVariant& known) {
        return known.type == variant.type && same_tile(known.tile, variant.tile);
      });
      if (place == rung.variants.end()) place = rung.variants.insert(place, {variant.tile, variant.type, {}});
      place->launch[build] = variant.launch;
    }
  }
  return rung;
}

// A build that the program was made without registers nothing.
#if LAPIDARY_WITH_INSTRUMENTED
#define LAPIDARY_RUNG_INSTRUMENTED(name) rung_instrumented_##name()
#else
#define LAPIDARY_RUNG_INSTRUMENTED(name) RungVariants()
#endif
#if LAPIDARY_WITH_CUDA
#define LAPIDARY_RUNG_GPU(name) rung_gpu_##name()
#else
#define LAPIDARY_RUNG_GPU(name) RungVariants()
#endif

std::vector<Rung> all_rungs() {
  return {
#define LAPIDARY_RUNG(family, name) \
  make_rung(#family, #name, {rung_plain_##name(), LAPIDARY_RUNG_INSTRUMENTED(name), LAPIDARY_RUNG_GPU(name)}),
#include "kernels/ladder.def"
#undef LAPIDARY_RUNG
  };
}

#undef LAPIDARY_RUNG_INSTRUMENTED
#undef LAPIDARY_RUNG_GPU

/// Up to three rungs that the name may have meant, nearest first; a part of a name counts as near.
std::vector<std::string_view> nearest_rungs(std::string_view name) {
  constexpr std::size_t most = 3;
  const std::size_t far = std::max<std::size_t>(3, name.size() / 2);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const Rung& rung : ladder()) {
    const bool part = name.size() > 1 && rung.name().find(name) != std::string_view::npos;
    const std::size_t distance = part ? 0 : edit_distance(name, rung.name());
    if (distance < far) near.emplace_back(distance, rung.name());
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> names;
  for (const auto& [distance, nearest] : near) {
    if (names.size() < most) names.push_back(nearest);
  }
  return names;
}

/// A matrix of a problem, for checks that are the same for all four.
struct Operand {
  const char* name;
  const void* data;
  std::int64_t rows, cols, ld;
  const char* columns_are;  ///< N or K
};

Operand operand_a(const GemmProblem& p) { return {"A", p.A, p.M, p.K, p.lda, "K"}; }
Operand operand_b(const GemmProblem& p) { return {"B", p.B, p.K, p.N, p.ldb, "N"}; }
Operand operand_c(const GemmProblem& p) { return {"C", p.C, p.M, p.N, p.ldc, "N"}; }
Operand operand_d(const GemmProblem& p) { return {"D", p.D, p.M, p.N, p.ldd, "N"}; }

void validate_sizes(const Operand& x, Type type) {
  if (x.ld < x.cols) {
    throw InvalidArgument(fmt::format("ld{} is {}; a row of {} has {} = {} elements, so it must be at least {}",
                                      static_cast<char>(x.name[0] - 'A' + 'a'), x.ld, x.name, x.columns_are, x.cols,
                                      x.cols));
  }
  if (x.rows == 0 || x.cols == 0) return;
  std::int64_t extent = 0;
  if (__builtin_mul_overflow(x.rows - 1, x.ld, &extent) || __builtin_add_overflow(extent, x.cols, &extent) ||
      __builtin_mul_overflow(extent, std::int64_t{size_of(type)}, &extent)) {
    throw InvalidArgument(fmt::format("{} is {} x {} {} with leading dimension {}; it must take less than 2^63 bytes",
                                      x.name, x.rows, x.cols, lapidary::name_of(type), x.ld));
  }
}

void validate_pointer(const Operand& x, Type type) {
  if (x.rows == 0 || x.cols == 0) return;
  if (!x.data) {
    throw InvalidArgument(fmt::format("{} is null; it must point to {} x {} elements", x.name, x.rows, x.cols));
  }
  if (reinterpret_cast<std::uintptr_t>(x.data) % static_cast<unsigned>(size_of(type)) != 0) {
    throw InvalidArgument(fmt::format("{} is at {}; its address must be a multiple of the {} bytes of an element",
                                      x.name, x.data, size_of(type)));
  }
}

/// The bytes of a matrix, as rows of `length` bytes that begin every `pitch` bytes.
struct Bytes {
  std::int64_t begin, rows, length, pitch;

  Bytes(const Operand& x, Type type)
      : begin(reinterpret_cast<std::intptr_t>(x.data)),
        rows(x.rows),
        length(x.cols * size_of(type)),
        // The leading dimension of a single row is never walked and may be too large to be counted in bytes.
        pitch(x.rows > 1 ? x.ld * size_of(type) : length) {}

  std::int64_t end() const { return begin + (rows - 1) * pitch + length; }
};

/// Whether two matrices share an element. Blocks of one larger matrix overlap as ranges of addresses without doing so:
/// each row of the one with fewer rows is held against the few rows of the other that could meet it.
bool overlap(const Operand& x, const Operand& y, Type type) {
  if (x.rows == 0 || x.cols == 0 || y.rows == 0 || y.cols == 0) return false;
  Bytes a(x, type), b(y, type);
  if (a.rows > b.rows) std::swap(a, b);
  if (a.end() <= b.begin || b.end() <= a.begin) return false;
  const auto floor_div = [](std::int64_t dividend, std::int64_t divisor) {
    return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
  };
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const std::int64_t begin = a.begin + row * a.pitch;
    const std::int64_t first = floor_div(begin - b.length - b.begin, b.pitch) +
                               1;  // the first that ends behind `begin`
    const std::int64_t last = floor_div(begin + a.length - 1 - b.begin,
                                        b.pitch);  // the last that begins before its end
    if (std::max<std::int64_t>(first, 0) <= std::min(last, b.rows - 1)) return true;
  }
  return false;
}

}  // namespace

bool Rung::has(Type type) const {
  return std::any_of(variants.begin(), variants.end(), [&](const RungVariant& v) { return v.type == type; });
}

const RungVariant& Rung::variant(Type type, std::string_view tile) const {
  std::string tiles;
  for (const RungVariant& candidate : variants) {
    if (candidate.type != type) continue;
    const std::string name = to_string(candidate.tile);
    if (tile.empty() || tile == name) return candidate;
    tiles += (tiles.empty() ? "" : ", ") + name;
  }
  if (!tiles.empty()) {
    throw InvalidArgument(fmt::format("{} has no tile {} for {}; it has {}", info->name, tile, name_of(type), tiles));
  }
  std::string types;
  for (const Type other : all_types) {
    if (has(other)) types += fmt::format("{}{}", types.empty() ? "" : ", ", name_of(other));
  }
  throw InvalidArgument(fmt::format("{} has no {} kernel; it has {}", info->name, name_of(type), types));
}

std::span<const Rung> ladder() {
  static const std::vector<Rung> rungs = all_rungs();
  return rungs;
}

const Rung& find_rung(std::string_view name) {
  for (const Rung& rung : ladder()) {
    if (rung.name() == name) return rung;
  }
  const std::vector<std::string_view> near = nearest_rungs(name);
  std::string names;
  for (const std::string_view other : near) names += fmt::format("{}{}", names.empty() ? "" : ", ", other);
  if (!near.empty()) throw InvalidArgument(fmt::format("no kernel is named '{}'; near it are {}", name, names));
  for (const Rung& rung : ladder()) names += fmt::format("{}{}", names.empty() ? "" : ", ", rung.name());
  throw InvalidArgument(fmt::format("no kernel is named '{}'; there are {}", name, names));
}

std::string to_string(const TileShape& tile) {
  return tile.k == 0 ? fmt::format("{}x{}", tile.m, tile.n) : fmt::format("{}x{}x{}", tile.m, tile.n, tile.k);
}

void run(const RungVariant& variant, Build build, const Stream& stream, const GemmProblem& problem) {
  validate(problem);
  if (problem.type != variant.type) {
    throw InvalidArgument(fmt::format("the problem is of type {}; this kernel was instantiated for {}",
                                      name_of(problem.type), name_of(variant.type)));
  }
  const auto launch = variant.launch[static_cast<std::size_t>(build)];
  if (!launch) {
    throw InvalidArgument(fmt::format("this program has no {} build of the kernel{}", name_of(build),
                                      build == Build::gpu            ? "; configure it where nvcc is on the PATH"
                                      : build == Build::instrumented ? "; configure it with LAPIDARY_INSTRUMENTED=ON"
                                                                     : ""));
  }
  if (build != Build::gpu) {
    if (!stream.machine) {
      throw InvalidArgument(fmt::format(
          "the {} build of a kernel runs on the emulated machine; this stream belongs to a GPU", name_of(build)));
    }
    const emulator::Options& options = stream.machine->options();
    if (build == Build::plain && (options.count || options.check)) {
      throw InvalidArgument("the plain build of a kernel cannot be counted or checked; use the instrumented one");
    }
  }
  if (problem.M == 0 || problem.N == 0) return;
  launch(stream, problem);
}

std::int64_t matrix_extent(std::int64_t rows, std::int64_t cols, std::int64_t ld) {
  return rows == 0 || cols == 0 ? 0 : (rows - 1) * ld + cols;
}

void validate_sizes(const GemmProblem& p) {
  if (std::find(std::begin(all_types), std::end(all_types), p.type) == std::end(all_types)) {
    throw InvalidArgument(
        fmt::format("the element type has value {}; types are f32, f16 and bf16", static_cast<int>(p.type)));
  }
  for (const auto& [name, size] : {std::pair{"M", p.M}, std::pair{"N", p.N}, std::pair{"K", p.K}}) {
    if (size < 0) throw InvalidArgument(fmt::format("{} is {}; sizes must be 0 or more", name, size));
  }
  validate_sizes(operand_a(p), p.type);
  validate_sizes(operand_b(p), p.type);
  if (p.beta != 0) validate_sizes(operand_c(p), p.type);
  validate_sizes(operand_d(p), p.type);
}

void validate(const GemmProblem& p) {
  validate_sizes(p);
  const Operand a = operand_a(p), b = operand_b(p), c = operand_c(p), d = operand_d(p);
  if (p.M == 0 || p.N == 0) return;
  validate_pointer(a, p.type);
  validate_pointer(b, p.type);
  if (p.beta != 0) validate_pointer(c, p.type);
  validate_pointer(d, p.type);
  for (const Operand& input : {a, b}) {
    if (overlap(d, input, p.type)) {
      throw InvalidArgument(fmt::format("D shares elements with {}; it must not, since {} is read while D is written",
                                        input.name, input.name));
    }
  }
  if (p.beta == 0) return;
  if (p.C == p.D) {
    if (p.ldc != p.ldd) {
      throw InvalidArgument(fmt::format("D is C, but ldc is {} and ldd is {}; they must be equal", p.ldc, p.ldd));
    }
  } else if (overlap(d, c, p.type)) {
    throw InvalidArgument("D shares elements with C without being C; it must be C, with ldd = ldc, or share none");
  }
}

}  // namespace lapidary
