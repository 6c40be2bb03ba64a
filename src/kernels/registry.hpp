#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/rung.hpp"

namespace lapidary {

/// The builds that a kernel is compiled in (core/build.hpp).
enum class Build : std::uint8_t { plain, instrumented, gpu };

struct RungVariant {
  TileShape tile;
  GemmKind kind;
  /// By build; null where a build was left out, as `gpu` is without nvcc.
  std::array<void (*)(const Stream&, const GemmProblem&), 3> launch;
  TileOrder order = {};
  bool cuts = false;
};

struct Rung {
  const RungInfo* info;
  std::string family;                 ///< the folder of src/kernels that it lives in: "simt"
  std::string source;                 ///< path below the project's root
  std::vector<RungVariant> variants;  ///< the first one is the default

  std::string_view name() const { return info->name; }
  bool has(const GemmKind& kind) const;
  /// Least compute capability, major * 10 + minor, for products of a kind: FP8 came with 8.9.
  int architecture(const GemmKind& kind) const;
  /// Whether cards of a compute capability run products of a kind.
  bool runs_on(int compute_capability, const GemmKind& kind) const;
  /// What they must have for it: "compute capability 8.0".
  std::string requirement(const GemmKind& kind) const;
  /// The first variant of that kind and, unless it is empty, that tile. @throws InvalidArgument naming those there are
  const RungVariant& variant(const GemmKind& kind, std::string_view tile = "") const;
};

/// All rungs that this program has, in the order of the ladder.
std::span<const Rung> ladder();

/// A rung that a program has only if its build found what the kernel needs.
struct OptionalRung {
  std::string_view name, family;
  std::string source;      ///< as Rung::source
  std::string_view needs;  ///< what that is, and how to build with it
  bool built;              ///< it is on ladder()
  std::size_t place;       ///< on the ladder of all rungs
};

/// In the order of the ladder.
std::span<const OptionalRung> optional_rungs();

/// @throws InvalidArgument naming the nearest rungs, or what an optional rung needs that this program was built without
const Rung& find_rung(std::string_view name);

/// "128x128x8", or "32x32" where k is 0.
std::string to_string(const TileShape& tile);

/// "bf16": types of A and B and of C and D alike, all row-major; "bf16/f32": results of f32; "bf16 RC": A row-major, B
/// column-major.
std::string to_string(const GemmKind& kind);

/// @throws InvalidArgument naming those there are
Type parse_type(std::string_view name);
/// What to_string() makes of a kind: "bf16", "bf16/f32", "bf16 RC".
/// @throws InvalidArgument saying how it is written
GemmKind parse_kind(std::string_view text);

/// Runs D = alpha * A * B + beta * C with one variant of a rung; does nothing if M or N is 0.
/// @throws InvalidArgument if the problem is not legal or the program has no such build of the kernel
void run(const RungVariant& variant, Build build, const Stream& stream, const GemmProblem& problem);

/// Elements from the first to the last one of a matrix: (rows - 1) * ld + cols if it is row-major, or 0 if it has none;
/// for sizes that `validate_sizes` accepts.
std::int64_t matrix_extent(std::int64_t rows, std::int64_t cols, std::int64_t ld, Order order = Order::row_major);

/// Checks sizes and leading dimensions and leaves the pointers alone. Those of C count only if beta is not 0.
/// @throws InvalidArgument naming the rule, the value and what is legal
void validate_sizes(const GemmProblem& problem);

/// Checks sizes, leading dimensions and pointers: matrices that have elements are not null and aligned to an element, D
/// shares no element with A or B, and none with C either unless it is C. D may lie between the rows of the others.
/// @throws InvalidArgument naming the rule, the value and what is legal
void validate(const GemmProblem& problem);

}  // namespace lapidary
