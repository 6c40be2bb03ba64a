#include "kernels/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
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

constexpr int architecture_of_wgmma = 90;

std::string source_of(const char* family, const char* name) {
  return fmt::format("src/kernels/{}/{}.cuh", family, name);
}

/// Joins what the builds of a rung registered, in the order of `Build`.
Rung make_rung(const char* family, const char* name, const std::array<RungVariants, 3>& builds) {
  Rung rung{builds[0].info, family, source_of(family, name), {}};
  for (std::size_t build = 0; build < builds.size(); ++build) {
    for (const Variant& variant : std::span(builds[build].variants, static_cast<std::size_t>(builds[build].count))) {
      auto place = std::find_if(rung.variants.begin(), rung.variants.end(), [&](const RungVariant& known) {
        return known.kind == variant.kind && same_tile(known.tile, variant.tile);
      });
      if (place == rung.variants.end())
        place = rung.variants.insert(place, {variant.tile, variant.kind, {}, variant.order, variant.cuts});
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

// What optional rungs need: needs_<WHAT>.
constexpr std::string_view needs_CUTLASS =
    "CUTLASS's headers; get them and build with them, as docs/cute.md tells: "
    "python3 -m venv /tmp/cutlass && /tmp/cutlass/bin/pip install --no-deps nvidia-cutlass && "
    "cmake -S . -B build -DLAPIDARY_CUTLASS_DIR=$(echo /tmp/cutlass/lib/python3*/site-packages/cutlass_library/source) "
    "&& cmake --build build --target lapidary_program";

std::vector<OptionalRung> all_optional_rungs() {
  std::vector<OptionalRung> rungs;
  std::size_t place = 0;
#undef LAPIDARY_OPTIONAL_RUNG
#define LAPIDARY_RUNG(family, name) ++place;
#define LAPIDARY_OPTIONAL_RUNG(family, name, what) \
  rungs.push_back({#name, #family, source_of(#family, #name), needs_##what, LAPIDARY_WITH_##what, place++});
#include "kernels/ladder.def"
#undef LAPIDARY_RUNG
#undef LAPIDARY_OPTIONAL_RUNG
  return rungs;
}

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
  Type type;
  std::int64_t rows, cols, ld;
  const char *rows_are, *cols_are;  ///< M, N or K
  Order order = Order::row_major;

  bool row_major() const { return order == Order::row_major; }
  /// Runs of neighbours in memory: rows or columns.
  std::int64_t lines() const { return row_major() ? rows : cols; }
  std::int64_t length() const { return row_major() ? cols : rows; }
  bool empty() const { return rows == 0 || cols == 0; }
};

Operand operand_a(const GemmProblem& p) { return {"A", p.A, p.kind.type, p.M, p.K, p.lda, "M", "K", p.kind.a}; }
Operand operand_b(const GemmProblem& p) { return {"B", p.B, p.kind.type, p.K, p.N, p.ldb, "K", "N", p.kind.b}; }
Operand operand_c(const GemmProblem& p) { return {"C", p.C, p.kind.result, p.M, p.N, p.ldc, "M", "N"}; }
Operand operand_d(const GemmProblem& p) { return {"D", p.D, p.kind.result, p.M, p.N, p.ldd, "M", "N"}; }

void validate_sizes(const Operand& x) {
  if (x.ld < x.length()) {
    throw InvalidArgument(fmt::format("ld{} is {}; a {} of {} has {} = {} elements, so it must be at least {}",
                                      static_cast<char>(x.name[0] - 'A' + 'a'), x.ld, x.row_major() ? "row" : "column",
                                      x.name, x.row_major() ? x.cols_are : x.rows_are, x.length(), x.length()));
  }
  if (x.empty()) return;
  std::int64_t extent = 0;
  if (__builtin_mul_overflow(x.lines() - 1, x.ld, &extent) || __builtin_add_overflow(extent, x.length(), &extent) ||
      __builtin_mul_overflow(extent, std::int64_t{size_of(x.type)}, &extent)) {
    throw InvalidArgument(fmt::format("{} is {} x {} {} with leading dimension {}; it must take less than 2^63 bytes",
                                      x.name, x.rows, x.cols, lapidary::name_of(x.type), x.ld));
  }
}

void validate_pointer(const Operand& x) {
  if (x.empty()) return;
  if (!x.data) {
    throw InvalidArgument(fmt::format("{} is null; it must point to {} x {} elements", x.name, x.rows, x.cols));
  }
  if (reinterpret_cast<std::uintptr_t>(x.data) % static_cast<unsigned>(size_of(x.type)) != 0) {
    throw InvalidArgument(fmt::format("{} is at {}; its address must be a multiple of the {} bytes of an element",
                                      x.name, x.data, size_of(x.type)));
  }
}

/// The bytes of a matrix, as lines of `length` bytes that begin every `pitch` bytes.
struct Bytes {
  std::int64_t begin, lines, length, pitch;

  explicit Bytes(const Operand& x)
      : begin(reinterpret_cast<std::intptr_t>(x.data)),
        lines(x.lines()),
        length(x.length() * size_of(x.type)),
        // The leading dimension of a single line is never walked and may be too large to be counted in bytes.
        pitch(lines > 1 ? x.ld * size_of(x.type) : length) {}

  std::int64_t end() const { return begin + (lines - 1) * pitch + length; }
};

/// Whether two matrices share an element. Blocks of one larger matrix overlap as ranges of addresses without doing so:
/// each line of the one with fewer lines is held against the few lines of the other that could meet it.
bool overlap(const Operand& x, const Operand& y) {
  if (x.empty() || y.empty()) return false;
  Bytes a(x), b(y);
  if (a.lines > b.lines) std::swap(a, b);
  if (a.end() <= b.begin || b.end() <= a.begin) return false;
  const auto floor_div = [](std::int64_t dividend, std::int64_t divisor) {
    return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
  };
  for (std::int64_t line = 0; line < a.lines; ++line) {
    const std::int64_t begin = a.begin + line * a.pitch;
    const std::int64_t first = floor_div(begin - b.length - b.begin, b.pitch) +
                               1;  // the first that ends behind `begin`
    const std::int64_t last = floor_div(begin + a.length - 1 - b.begin,
                                        b.pitch);  // the last that begins before its end
    if (std::max<std::int64_t>(first, 0) <= std::min(last, b.lines - 1)) return true;
  }
  return false;
}

}  // namespace

bool Rung::has(const GemmKind& kind) const {
  return std::any_of(variants.begin(), variants.end(), [&](const RungVariant& v) { return v.kind == kind; });
}

int Rung::architecture(const GemmKind& kind) const {
  return kind.type == Type::e4m3 ? std::max(info->architecture, 89) : info->architecture;
}

bool Rung::runs_on(int compute_capability, const GemmKind& kind) const {
  return info->architecture == architecture_of_wgmma ? compute_capability == architecture_of_wgmma
                                                     : compute_capability >= architecture(kind);
}

std::string Rung::requirement(const GemmKind& kind) const {
  const int least = architecture(kind);
  return fmt::format("compute capability {}.{}{}", least / 10, least % 10,
                     least == architecture_of_wgmma ? " itself, as wgmma is of sm_90a alone" : "");
}

const RungVariant& Rung::variant(const GemmKind& kind, std::string_view tile) const {
  std::string tiles, kinds;
  std::vector<GemmKind> seen;
  for (const RungVariant& candidate : variants) {
    if (candidate.kind == kind) {
      const std::string name = to_string(candidate.tile);
      if (tile.empty() || tile == name) return candidate;
      tiles += (tiles.empty() ? "" : ", ") + name;
    } else if (std::find(seen.begin(), seen.end(), candidate.kind) == seen.end()) {
      seen.push_back(candidate.kind);
      kinds += (kinds.empty() ? "" : ", ") + to_string(candidate.kind);
    }
  }
  if (!tiles.empty()) {
    throw InvalidArgument(fmt::format("{} has no tile {} for {}; it has {}", info->name, tile, to_string(kind), tiles));
  }
  throw InvalidArgument(fmt::format("{} has no {} kernel; it has {}", info->name, to_string(kind), kinds));
}

std::span<const Rung> ladder() {
  static const std::vector<Rung> rungs = all_rungs();
  return rungs;
}

std::span<const OptionalRung> optional_rungs() {
  static const std::vector<OptionalRung> rungs = all_optional_rungs();
  return rungs;
}

const Rung& find_rung(std::string_view name) {
  for (const Rung& rung : ladder()) {
    if (rung.name() == name) return rung;
  }
  for (const OptionalRung& rung : optional_rungs()) {
    if (rung.name == name)
      throw InvalidArgument(fmt::format("this program was built without {}, which needs {}", name, rung.needs));
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

std::string to_string(const GemmKind& kind) {
  const auto letter = [](Order order) { return order == Order::row_major ? 'R' : 'C'; };
  const bool row_major = kind.a == Order::row_major && kind.b == Order::row_major;
  return fmt::format("{}{}{}{}", name_of(kind.type), kind.result == kind.type ? "" : "/",
                     kind.result == kind.type ? "" : name_of(kind.result),
                     row_major ? "" : fmt::format(" {}{}", letter(kind.a), letter(kind.b)));
}

Type parse_type(std::string_view name) {
  std::string names;
  for (const Type type : operand_types) {
    if (name == name_of(type)) return type;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(type));
  }
  if (name == "f64" || name == "e5m2")
    throw InvalidArgument(fmt::format("no kernel has elements of {}; there are {}", name, names));
  throw InvalidArgument(fmt::format("no element type is named '{}'; there are {}", name, names));
}

GemmKind parse_kind(std::string_view text) {
  const std::size_t blank = text.find(' ');
  const std::string_view types = text.substr(0, blank), orders = blank == text.npos ? "RR" : text.substr(blank + 1);
  const std::size_t slash = types.find('/');
  const Type type = parse_type(types.substr(0, slash));
  const Type result = slash == types.npos ? GemmKind(type).result : parse_type(types.substr(slash + 1));
  if (orders.size() != 2 || orders.find_first_not_of("RC") != orders.npos) {
    throw InvalidArgument(
        fmt::format("'{}' are no orders of A and B; they are written RR, RC, CR or CC, R for row-major", orders));
  }
  const auto order = [](char letter) { return letter == 'R' ? Order::row_major : Order::column_major; };
  return {type, result, order(orders[0]), order(orders[1])};
}

void run(const RungVariant& variant, Build build, const Stream& stream, const GemmProblem& problem) {
  validate(problem);
  if (problem.kind != variant.kind) {
    throw InvalidArgument(fmt::format("the problem is of type {}; this kernel was instantiated for {}",
                                      to_string(problem.kind), to_string(variant.kind)));
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

std::int64_t matrix_extent(std::int64_t rows, std::int64_t cols, std::int64_t ld, Order order) {
  if (order == Order::column_major) std::swap(rows, cols);
  return rows == 0 || cols == 0 ? 0 : (rows - 1) * ld + cols;
}

void validate_sizes(const GemmProblem& p) {
  for (const Type type : {p.kind.type, p.kind.result}) {
    if (std::find(std::begin(operand_types), std::end(operand_types), type) == std::end(operand_types)) {
      throw InvalidArgument(fmt::format("the element type has value {}; types are {} (f32) to {} (s8)",
                                        static_cast<int>(type), static_cast<int>(Type::f32),
                                        static_cast<int>(Type::s8)));
    }
  }
  if (!is_result(p.kind.type) && p.kind.result != Type::f32) {
    throw InvalidArgument(fmt::format("the results of {} matrices are {}; they must be f32", name_of(p.kind.type),
                                      name_of(p.kind.result)));
  }
  if (p.kind.result != p.kind.type && p.kind.result != Type::f32) {
    throw InvalidArgument(fmt::format("the results of {} matrices are {}; they must be of the same type or f32",
                                      name_of(p.kind.type), name_of(p.kind.result)));
  }
  for (const auto& [name, size] : {std::pair{"M", p.M}, std::pair{"N", p.N}, std::pair{"K", p.K}}) {
    if (size < 0) throw InvalidArgument(fmt::format("{} is {}; sizes must be 0 or more", name, size));
  }
  validate_sizes(operand_a(p));
  validate_sizes(operand_b(p));
  if (p.beta != 0) validate_sizes(operand_c(p));
  validate_sizes(operand_d(p));
}

void validate(const GemmProblem& p) {
  validate_sizes(p);
  const Operand a = operand_a(p), b = operand_b(p), c = operand_c(p), d = operand_d(p);
  if (p.M == 0 || p.N == 0) return;
  validate_pointer(a);
  validate_pointer(b);
  if (p.beta != 0) validate_pointer(c);
  validate_pointer(d);
  for (const Operand& input : {a, b}) {
    if (overlap(d, input)) {
      throw InvalidArgument(fmt::format("D shares elements with {}; it must not, since {} is read while D is written",
                                        input.name, input.name));
    }
  }
  if (p.beta == 0) return;
  if (p.C == p.D) {
    if (p.ldc != p.ldd) {
      throw InvalidArgument(fmt::format("D is C, but ldc is {} and ldd is {}; they must be equal", p.ldc, p.ldd));
    }
  } else if (overlap(d, c)) {
    throw InvalidArgument("D shares elements with C without being C; it must be C, with ldd = ldc, or share none");
  }
}

}  // namespace lapidary
